import { escapeHtml } from "../../base/text.ts";
import { plain } from "../../operation/term.ts";
import { TASK_STATES } from "../../queue/states.ts";
import { documentOf, type Entry, PAGE, type Tone } from "./report-document.ts";
import type { Report } from "./report-shape.ts";

/**
 * A page of its own, also as an e-mail: tables and inline styles, which mail programs keep; no script, no image,
 * no address. The style sheet only adds the dark colours, where it is read.
 */
export function htmlReport(report: Report): string {
  const { title, place, period, needsTitle, needs, facts, worked, killed, notes } = documentOf(
    report,
    PAGE,
  );
  const counts = TASK_STATES.map((state) => `${state} ${report.counts[state]}`).join(" · ");
  const isFine = needs.length === 0;
  const parts = [
    `<h1 style="font-size:20px;margin:0 0 4px">${text(title)}</h1>`,
    `<p class="dim" style="${DIM};margin:0 0 4px;overflow-wrap:anywhere">${text(place)}<br>${text(period)}</p>`,
    `<p style="margin:0 0 16px">${counts}</p>`,
    heading(needsTitle, isFine ? "good" : "warn"),
    table(needs.map(entryRow)),
    heading("What happened"),
    table(facts.map((fact) => row([bold(fact.label), toned(fact.text, fact.tone)]))),
  ];
  if (worked.rows.length > 0) {
    const rows = worked.rows.map(({ name, when, tasks, busy, bar }) =>
      row([
        `${bold(name)}<br><span class="dim" style="${DIM}">${text(when)}</span>`,
        `${text(tasks)}, ${text(busy)}<br><span style="font-family:monospace;letter-spacing:0">${text(bar)}</span>`,
      ]),
    );
    parts.push(heading(worked.title), table(rows));
    if (worked.more !== "") parts.push(`<p class="dim" style="${DIM}">${text(worked.more)}</p>`);
  }
  if (killed.length > 0) parts.push(heading("Killed"), table(killed.map(entryRow)));
  for (const note of notes) parts.push(`<p class="dim" style="${DIM}">${text(note)}</p>`);
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="supported-color-schemes" content="light dark">',
    `<title>${text(`Report: ${title}`)}</title>`,
    `<style>${DARK}</style></head>`,
    `<body style="margin:0;padding:16px;background:#ffffff;color:#1b1f23;${FONT}">`,
    `<div style="max-width:640px;margin:0 auto">`,
    ...parts.filter((part) => part !== ""),
    "</div></body></html>",
  ].join("\n");
}

const FONT = "font:15px/1.45 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const DIM = "color:#57606a;font-size:13px";
const COLORS: Record<Tone, string> = {
  ...{ good: "#116329", bad: "#b42318", warn: "#7d4e00", plain: "#1b1f23" },
};
const DARK = [
  "@media (prefers-color-scheme:dark){",
  "body{background:#0d1117!important;color:#e6edf3!important}",
  ".plain{color:#e6edf3!important}.good{color:#56d364!important}.bad{color:#ff8f85!important}",
  ".warn{color:#e3b341!important}.dim{color:#9aa4af!important}",
  "td{border-color:#30363d!important}code{background:#21262d!important;color:#e6edf3!important}}",
].join("");

function heading(said: string, tone: Tone = "plain"): string {
  return `<h2 class="${tone}" style="font-size:16px;margin:20px 0 6px;color:${COLORS[tone]}">${text(said)}</h2>`;
}

function table(rows: readonly string[]): string {
  if (rows.length === 0) return "";
  const style = "width:100%;border-collapse:collapse";
  return `<table cellpadding="0" cellspacing="0" style="${style}">${rows.join("\n")}</table>`;
}

function row([first = "", second = ""]: readonly string[]): string {
  const cell = "padding:6px 8px 6px 0;border-top:1px solid #d8dee4;vertical-align:top";
  return `<tr><td style="${cell};width:30%;overflow-wrap:anywhere">${first}</td><td style="${cell};overflow-wrap:anywhere">${second}</td></tr>`;
}

function entryRow({ label, subject, text: said, command, tone }: Entry): string {
  const name = `${toned(label, tone)}${subject === "" ? "" : `<br>${bold(subject)}`}`;
  return row([name, `${text(said)}${command === null ? "" : `<br>${code(command)}`}`]);
}

function toned(said: string, tone: Tone): string {
  return `<span class="${tone}" style="color:${COLORS[tone]}">${text(said)}</span>`;
}

function bold(said: string): string {
  return said === "" ? "" : `<b>${text(said)}</b>`;
}

function code(said: string): string {
  const style = "background:#f0f2f4;padding:1px 4px;border-radius:3px;font:13px monospace";
  return `<code style="${style};overflow-wrap:anywhere">${text(said)}</code>`;
}

/** Words of others: nothing in them is HTML, and what is not seen is shown. */
function text(said: string): string {
  return escapeHtml(plain(said));
}
