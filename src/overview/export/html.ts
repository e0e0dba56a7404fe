import { escapeHtml } from "../../base/text.ts";
import { plain } from "../../operation/term.ts";
import type { Redact } from "./redact.ts";

/** Text that is HTML already. Only this file makes it. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | readonly Html[] | null | undefined | false;
/** A template whose values are text, not HTML, unless the same function made them. */
export type Tag = (parts: TemplateStringsArray, ...values: readonly Value[]) => Html;

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
const COLOURS = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?/g;

const LONGEST_KNOWN = 64;
const MOST_KNOWN = 2000;

/** Every value is redacted, its control and direction characters are shown, and it is escaped. */
export function tagFor(redact: Redact): Tag {
  const written = (said: string) =>
    escapeHtml(plain(redact(said.replace(COLOURS, "").replaceAll("\r\n", "\n"))));
  // Types, workers and times come again and again.
  const known = new Map<string, string>();
  const text = (said: string) => {
    if (said.length > LONGEST_KNOWN) return written(said);
    const html = known.get(said) ?? written(said);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(said, html);
    return html;
  };
  const shown = (value: Value): string => {
    if (value instanceof Html) return value.text;
    if (typeof value === "number") return String(value);
    if (typeof value === "string") return text(value);
    return value ? value.map((one) => one.text).join("") : "";
  };
  return (parts, ...values) =>
    new Html(parts.map((part, i) => (i === 0 ? part : shown(values[i - 1]) + part)).join(""));
}

/** A link within the export: names that we made. */
export function linkTo(path: string): Html {
  if (!/^[\w./#-]+$/.test(path)) throw new Error(`no link of an export: ${path}`);
  return new Html(path);
}

/** Nothing runs and nothing is loaded but the style sheet. */
const POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'";

export interface Shell {
  title: string;
  run: string;
  at: string;
  /** From the page to the export's folder: "" or "../". */
  up: "" | "../";
  current?: "report" | "board";
}

export function pageOf(h: Tag, { title, run, at, up, current }: Shell, body: Html): string {
  const tab = (name: "report" | "board", file: string, label: string) =>
    h`<a href="${linkTo(`${up}${file}`)}"${new Html(current === name ? ' aria-current="page"' : "")}>${label}</a>`;
  return h`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(POLICY)}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="stylesheet" href="${linkTo(`${up}style.css`)}"></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header class="bar"><b>${run}</b><nav aria-label="Pages">${tab("report", "index.html", "Report")}${tab("board", "board.html", "Board")}</nav></header>
<main id="main">
${body}
</main>
<footer>As it was on ${minute(at)} UTC. Made by Vivarium.</footer>
</body></html>
`.text;
}

export function minute(iso: string): string {
  return iso.slice(0, 16).replace("T", " ");
}
