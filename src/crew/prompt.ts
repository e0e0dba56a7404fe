import { fenceFor } from "../base/text.ts";
import { scanOrg } from "../org/org.ts";

export interface PromptParts {
  /** Of the shared files, in the order they are to be read. */
  laws: readonly string[];
  def: string;
  mode: "plan" | "edit";
  /** The state it is in, if it has a lifecycle. */
  lifecycle: string | null;
  /** A run that reflects instead of following the def. */
  isReflection: boolean;
  /** Its last steps, for that. */
  recent: string;
}

const REQUEST = [
  "Do one keeper run in this repository now.",
  "In MODE: plan, change nothing: judge what is there and plan; in MODE: edit, do the work.",
  "If the file that $VIV_QUESTION names is there, you are asked whether you are alive: run `viv alive`.",
  "If there is nothing for you to do, begin your last text with NO-WORK and say why.",
];

const REFLECTION = [
  "Look back on what you did. Below are your last steps, thoughts and results, the oldest first.",
  "What went well, what was wasted, what will you do differently? Follow no other task in this run.",
];

export function promptFor(parts: PromptParts): string {
  const { laws, def, mode, lifecycle, isReflection, recent } = parts;
  const task = [
    `MODE: ${mode}`,
    ...(lifecycle === null ? [] : [`LIFECYCLE: ${lifecycle}`]),
    ...REQUEST,
  ].join("\n");
  const role = isReflection ? reflectionOn(recent) : def;
  const sections = [...laws, role].map((text) => text.replace(/^\ufeff/, "").trim());
  return `${[...sections.filter((text) => text !== ""), task].join("\n\n")}\n`;
}

/** Its past steps are data: fenced, so that they cannot be mistaken for the task. */
function reflectionOn(recent: string): string {
  const fence = fenceFor(recent);
  const steps = recent.trim() === "" ? "(nothing yet)" : recent.trimEnd();
  return [...REFLECTION, fence, steps, fence].join("\n");
}

/**
 * The files that are to be read before a def, as written, each once. In org `#+SHARED: a.org b.org`,
 * on any number of lines; in Markdown `shared:` in the front matter, a text or a list. A name with
 * spaces stands in quotes.
 */
export function sharedOf(text: string, format: "org" | "markdown"): string[] {
  const written = format === "org" ? sharedInOrg(text) : sharedInMarkdown(text);
  return [...new Set(written.filter((name) => name !== ""))];
}

function sharedInOrg(text: string): string[] {
  if (!/#\+shared/i.test(text)) return []; // most have none, and this runs at each tick
  const lines = scanOrg(text).keywords.filter(({ name }) => name === "SHARED");
  return lines.flatMap(({ value }) => (value.match(/"[^"]*"|\S+/g) ?? []).map(unquoted));
}

function sharedInMarkdown(text: string): string[] {
  const [first = "", ...lines] = text.replace(/^\ufeff/, "").split(/\r?\n/);
  const end = lines.findIndex((line) => /^(?:---|\.\.\.)\s*$/.test(line));
  if (first.trimEnd() !== "---" || end === -1) return [];
  const front = lines.slice(0, end);
  const at = front.findIndex((line) => /^shared\s*:/i.test(line));
  if (at === -1) return [];
  const value = withoutComment((front[at] as string).replace(/^shared\s*:/i, ""));
  if (value.startsWith("[")) {
    const inner = value.replace(/^\[/, "").replace(/\]$/, "");
    return (inner.match(/\s*(?:"[^"]*"|'[^']*'|[^,]+)/g) ?? []).map(unquoted);
  }
  if (value !== "") return [unquoted(value)];
  const names: string[] = [];
  for (const line of front.slice(at + 1)) {
    const item = /^\s*-(?=\s)/.exec(line);
    if (item !== null) names.push(unquoted(withoutComment(line.slice(item[0].length))));
    else if (withoutComment(line) !== "") break;
  }
  return names;
}

function withoutComment(text: string): string {
  const hash = text.search(/(?:^|\s)#/);
  return (hash === -1 ? text : text.slice(0, hash)).trim();
}

function unquoted(text: string): string {
  const name = text.trim();
  const isQuoted = /^(?:"[^"]*"|'[^']*')$/.test(name);
  return isQuoted ? name.slice(1, -1).trim() : name;
}
