import { dirname, extname, resolve } from "node:path";
import { isVivError, VivError } from "../base/errors.ts";
import { fenceFor } from "../base/text.ts";
import { scanOrg } from "../org/org.ts";
import type { LifecycleTick, Prepared } from "./crew-ports.ts";
import { afterTick, isClosed, parseLifecycle, positionFrom, positionText } from "./lifecycle.ts";
import type { Member } from "./manifest.ts";

/** The prompt and lifecycle of a tick, from the files as they are now: editing them needs no restart. */
interface PrepareHost {
  /** Of the manifest: paths in it are relative to that. */
  folder: string;
  /** Throws the system error. */
  readText(path: string): string;
  /** The persisted position of its lifecycle. */
  position(member: Member): string | null;
  /** Its last steps, for a reflection. */
  recent(member: Member): string;
}

export function prepare(host: PrepareHost, member: Member): Prepared {
  const path = resolve(host.folder, member.def);
  const def = read(host, path, "its def");
  const laws = lawsOf(host, path, def, new Set([path]));
  const lifecycle = member.lifecycle === null ? null : lifecycleOf(host, member, member.lifecycle);
  const { mode } = member;
  return {
    member,
    lifecycle,
    prompt: () => {
      const role = lifecycle?.isReflection ? reflectionOn(host.recent(member)) : def;
      return promptFrom([...laws, role], mode, lifecycle?.state ?? null);
    },
  };
}

/** What a member is told in every run; "" when a file cannot be read, for which it is parked. */
export function instructionsOf(
  host: Pick<PrepareHost, "folder" | "readText">,
  member: Member,
): string {
  const path = resolve(host.folder, member.def);
  try {
    const def = read(host, path, "its def");
    return [...lawsOf(host, path, def, new Set([path])), def].join("\n\n");
  } catch (error) {
    if (isVivError(error, "INVALID")) return "";
    throw error;
  }
}

type Reader = Pick<PrepareHost, "readText">;

/** Shared files come first, each once, theirs before them. */
function lawsOf(host: Reader, path: string, text: string, seen: Set<string>): string[] {
  return sharedOf(text, extname(path) === ".org" ? "org" : "markdown").flatMap((name) => {
    const shared = resolve(dirname(path), name);
    if (seen.has(shared)) return [];
    seen.add(shared);
    const law = read(host, shared, `the shared file of ${path}`);
    return [...lawsOf(host, shared, law, seen), law];
  });
}

function lifecycleOf(
  host: PrepareHost,
  member: Member,
  file: string,
): LifecycleTick & { isReflection: boolean } {
  const path = resolve(host.folder, file);
  const spec = parseLifecycle(read(host, path, "its lifecycle"));
  if (spec.problem !== null) throw new VivError("INVALID", `${path}: ${spec.problem}`);
  const position = positionFrom(host.position(member), spec);
  return {
    states: [...spec.states.keys()],
    state: position.state,
    isReflection: spec.states.get(position.state)?.kind === "rem",
    isClosed: (lastRan, now) => isClosed(spec, position, lastRan, now),
    after: (outcome) => positionText(afterTick(spec, position, outcome)),
  };
}

function read(host: Reader, path: string, what: string): string {
  try {
    return host.readText(path);
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const why = isMissing ? "is not there" : `cannot be read: ${(cause as Error).message}`;
    throw new VivError("INVALID", `${what} ${path} ${why}`, { path }, { cause });
  }
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

/** `parts`: the shared files in their order, then the def or a reflection. */
export function promptFrom(
  parts: readonly string[],
  mode: Member["mode"],
  lifecycle: string | null,
): string {
  const state = lifecycle === null ? [] : [`LIFECYCLE: ${lifecycle}`];
  const task = [`MODE: ${mode}`, ...state, ...REQUEST].join("\n");
  const texts = parts.map((text) => text.replace(/^\ufeff/, "").trim());
  return `${[...texts.filter((text) => text !== ""), task].join("\n\n")}\n`;
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
