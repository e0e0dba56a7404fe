import { type ConfigTable, isTable, nearest } from "../base/config-table.ts";
import type { Section } from "../base/section.ts";
import { NOTIFY_EVENTS, type NotifyEvent } from "./news.ts";
import { parseQuiet, type Quiet } from "./quiet.ts";

/** A value of viv.toml that may be in the environment instead: `env:NAME`. */
export type Secret = { env: string } | { text: string };

/** Where a message goes. */
export type Way =
  | { kind: "command"; argv: readonly string[] }
  | { kind: "webhook"; url: Secret; secret?: Secret }
  | { kind: "slack"; url: Secret }
  | { kind: "telegram"; token: Secret; chat: string; server: string }
  | { kind: "ntfy"; topic: string; server: string; token?: Secret }
  | { kind: "desktop" };

/** One `[[notify]]`. */
export interface Target {
  name: string;
  on: readonly NotifyEvent[];
  /** Of tasks; undefined: any. */
  types?: readonly string[];
  /** Before the title of each message. */
  title?: string;
  quiet?: Quiet;
  digestMs?: number;
  way: Way;
  /** Its messages are sent one by one, as they are: those of the warden's hook and webhook. */
  isWhole?: boolean;
}

const WAYS = ["command", "webhook", "slack", "telegram", "ntfy", "desktop"] as const;
const TELEGRAM = "https://api.telegram.org";
const NTFY = "https://ntfy.sh";
const AN_ADDRESS = "an address that begins with http:// or https://, or env:NAME";
const A_NAME = "a name of letters, digits, - and _, at most 30";

/** The warden's own targets have a dot in theirs. */
export function isNotifyName(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,30}$/.test(text);
}

/** The targets of `[[notify]]`, in the order of the file. */
export const notifySection = ((top): Target[] => {
  const names = new Set<string>();
  return top.items("notify").flatMap((table): Target[] => {
    const target = readTarget(table, names);
    table.refuseOthers();
    if (target === undefined) return [];
    if (names.has(target.name)) {
      table.note(["name"], `name "${target.name}" is that of another [[notify]]; give it its own`);
    }
    names.add(target.name);
    return [target];
  });
}) satisfies Section<unknown>;

function readTarget(table: ConfigTable, taken: ReadonlySet<string>): Target | undefined {
  const on = readEvents(table);
  const way = readWay(table);
  const name = table.text("name", A_NAME, isNotifyName);
  const rest = {
    types: table.texts("types", 'a list of task types, like ["fix"]'),
    title: table.text("title", "a text"),
    quiet: readQuiet(table),
    digestMs: table.duration("digest"),
  };
  if (on === undefined || way === undefined) return undefined;
  return { name: name ?? freeName(way.kind, taken), on, ...rest, way };
}

function freeName(kind: string, taken: ReadonlySet<string>): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? kind : `${kind}-${n}`;
    if (!taken.has(name)) return name;
  }
}

function readEvents(table: ConfigTable): NotifyEvent[] | undefined {
  const example = 'a list of events, like ["review", "failed"]';
  const given = table.texts("on", example, NOTIFY_EVENTS);
  if (!table.has("on") && !table.isMisspelt("on")) {
    table.note([], `${table.title} needs on, ${example}`);
  }
  if (given?.length === 0) table.note(["on"], `on is empty; it must be ${example}`);
  const events = given?.filter((one, i): one is NotifyEvent => {
    const isKnown = (NOTIFY_EVENTS as readonly string[]).includes(one);
    if (isKnown) return true;
    const meant = nearest(one, NOTIFY_EVENTS);
    const all = meant === undefined ? `; there are: ${NOTIFY_EVENTS.join(", ")}` : "";
    table.note(["on", i], `there is no event "${one}"${all}`, meant);
    return false;
  });
  return events?.length ? events : undefined;
}

function readQuiet(table: ConfigTable): Quiet | undefined {
  const text = table.text("quiet", 'the local time of two hours, like "23:00-07:00"');
  return text === undefined ? undefined : table.attempt("quiet", () => parseQuiet(text));
}

function readWay(table: ConfigTable): Way | undefined {
  const given = WAYS.filter((kind) => table.has(kind) && table.get(kind) !== false);
  const secret = readSecret(table, "secret");
  if (secret !== undefined && given[0] !== "webhook") {
    table.note(["secret"], "secret is only for a webhook, whose requests it signs");
  }
  if (given.length !== 1) {
    const what = given.length === 0 ? "needs one" : `has ${given.join(" and ")}, and needs one`;
    const isTypo = WAYS.some((kind) => table.isMisspelt(kind));
    if (!isTypo) table.note([], `${table.title} ${what} of ${WAYS.join(", ")}`);
    return undefined;
  }
  switch (given[0]) {
    case "command": {
      const argv = table.command("command", '["./tell.sh", "me"]');
      return argv && { kind: "command", argv };
    }
    case "webhook": {
      const url = readAddress(table, "webhook");
      return url && { kind: "webhook", url, secret };
    }
    case "slack": {
      const url = readAddress(table, "slack");
      return url && { kind: "slack", url };
    }
    case "telegram":
      return readTelegram(table);
    case "ntfy":
      return readNtfy(table);
    default:
      return table.flag("desktop") ? { kind: "desktop" } : undefined;
  }
}

function readTelegram(outer: ConfigTable): Way | undefined {
  const table = outer.section("telegram", ' like { token = "env:NAME", chat = "123456" }');
  const token = readSecret(table, "token");
  const chat = typeof table.get("chat") === "number" ? String(table.get("chat")) : undefined;
  const named = chat ?? table.text("chat", "a chat's number, or its @name");
  const server = readServer(table) ?? TELEGRAM;
  table.refuseOthers();
  for (const key of ["token", "chat"]) {
    if (!table.has(key)) outer.note(["telegram"], `telegram needs ${key}`);
  }
  return token && named ? { kind: "telegram", token, chat: named, server } : undefined;
}

function readNtfy(outer: ConfigTable): Way | undefined {
  const isName = (text: string) => /^[A-Za-z0-9_-]{1,64}$/.test(text);
  const what = "a topic of letters, digits, - and _, at most 64";
  if (!isTable(outer.get("ntfy"))) {
    const topic = outer.text("ntfy", `${what}, or { topic = …, server = …, token = … }`, isName);
    return topic === undefined ? undefined : { kind: "ntfy", topic, server: NTFY };
  }
  const table = outer.section("ntfy");
  const topic = table.text("topic", what, isName);
  const server = readServer(table) ?? NTFY;
  const token = readSecret(table, "token");
  table.refuseOthers();
  if (!table.has("topic")) outer.note(["ntfy"], "ntfy needs topic");
  return topic === undefined ? undefined : { kind: "ntfy", topic, server, token };
}

function readServer(table: ConfigTable): string | undefined {
  return table.text("server", "an address that begins with http:// or https://", isAddress);
}

/** Never in the file: it is read by all who may read the repository. */
function readSecret(table: ConfigTable, key: string): Secret | undefined {
  const text = table.text(key, 'the name of an environment variable, like "env:NAME"', isEnv);
  return text === undefined ? undefined : { env: text.slice(4) };
}

/** An address may have a secret in it, as Slack's have. */
function readAddress(table: ConfigTable, key: string): Secret | undefined {
  const text = table.text(key, AN_ADDRESS, (one) => isEnv(one) || isAddress(one));
  if (text === undefined) return undefined;
  return isEnv(text) ? { env: text.slice(4) } : { text };
}

function isEnv(text: string): boolean {
  return /^env:[A-Za-z_][A-Za-z0-9_]*$/.test(text);
}

export function isAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
