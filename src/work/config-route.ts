import { belongsOnTop, type ConfigTable, nearest } from "../base/config-table.ts";
import { shown } from "../base/shown.ts";
import {
  ENGINE_KEYS,
  type EngineDefaults,
  type EngineRoute,
  readEngine,
} from "../engines/config-engine.ts";

/** How tasks of one type are worked on: a table `[handlers.TYPE]` of viv.toml. */
export interface Route {
  /** `default`, or the type it is for. */
  type: string;
  /** The command and its arguments, as they are written in the file; none with most engines. */
  handler: readonly string[];
  engine?: EngineRoute;
  timeoutMs?: number;
  maxAttempts?: number;
  backoffMs?: number;
  doneWhen?: string;
  doneWhenTimeoutMs?: number;
  review?: boolean;
  workspace: (typeof WORKSPACES)[number];
  /** As it is written in the file: relative to it. */
  repository?: string;
  base?: string;
  sandbox: readonly (typeof SANDBOXES)[number][];
  /** `NAME`, or `NAME=VALUE`. */
  env: readonly string[];
}

const WORKSPACES = ["none", "dir", "worktree"] as const;
const SANDBOXES = ["write-workspace", "no-network"] as const;

export const ROUTE_KEYS = [
  "handler",
  "timeout",
  "max_attempts",
  "backoff",
  "done_when",
  "done_when_timeout",
  "review",
  "workspace",
  "repository",
  "base",
  "sandbox",
  "env",
  ...ENGINE_KEYS,
];

/** Reads a whole table and notes every mistake in it; with one, the route is not to be used. */
export function readRoute(type: string, table: ConfigTable, engines: EngineDefaults): Route {
  table.refuseUnknown(ROUTE_KEYS, (key) =>
    table.hasTable(key) && !key.includes("budget") && key !== "tiers"
      ? quoteDot(`${type}.${key}`)
      : belongsOnTop(key),
  );
  const workspace = readWorkspace(table);
  return {
    type,
    handler: needsHandler(table) ? readHandler(table) : [],
    workspace,
    sandbox: readSandbox(table),
    env: readEnv(table),
    ...given({
      engine: readEngine(table, engines),
      timeoutMs: table.duration("timeout"),
      maxAttempts: table.whole("max_attempts", 1000),
      backoffMs: table.duration("backoff"),
      doneWhen: table.text("done_when", "a command"),
      doneWhenTimeoutMs: table.duration("done_when_timeout"),
      review: table.flag("review"),
      repository: table.text("repository", "the path of a git repository"),
      base: table.text("base", "a branch or a commit"),
    }),
  };
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function given<T extends object>(values: T): Given<T> {
  return Object.fromEntries(Object.entries(values).filter(([, v]) => v !== undefined)) as Given<T>;
}

/** `[handlers.a.b]` is a table b in a, and not the type a.b. */
function quoteDot(type: string): string {
  return `a type with a dot in it needs quotes: [handlers.${shown(type)}]`;
}

function needsHandler(table: ConfigTable): boolean {
  return !table.has("engine") || table.get("engine") === "exec";
}

function readHandler(table: ConfigTable): string[] {
  const value = table.get("handler");
  if (value === undefined) {
    if (!isNoted(table)) {
      table.note([], `${table.title} needs a handler, like handler = "./handle.sh", or an engine`);
    }
    return [];
  }
  if (typeof value === "string") {
    const path = table.text("handler", "the path or the name of a command");
    if (path === undefined) return [];
    if (/\s/.test(path)) table.note(["handler"], spaced(path));
    return [path];
  }
  const words = table.texts("handler", 'a string, or a list of them like ["python3", "audit.py"]');
  if (words?.[0]?.trim() === "" || words?.length === 0) {
    table.note(["handler"], "handler is empty; its first item must be the command to start");
  }
  return words ?? [];
}

/** Why there is no handler: it is misspelt, or the table is only the first half of a type. */
function isNoted(table: ConfigTable): boolean {
  const isHalf = table.keys.length > 0 && table.keys.every((key) => table.hasTable(key));
  return isHalf || table.keys.some((key) => nearest(key, ROUTE_KEYS) === "handler");
}

/** There is no shell that would take it apart; a path with a space can stand in a list, too. */
function spaced(handler: string): string {
  const words = handler.trim().split(/\s+/);
  // Where something is quoted, the words are not what a shell would make of it.
  const isPlain = !/["'`\\$|&;<>*]/.test(handler);
  const list = isPlain ? words.map((word) => JSON.stringify(word)) : ['"sh"', '"-c"', '"…"'];
  return `handler has a space in it; write a list, one item for each word: [${list.join(", ")}]`;
}

function readWorkspace(table: ConfigTable): Route["workspace"] {
  const workspace = table.choice("workspace", WORKSPACES);
  if (workspace === undefined && table.has("workspace")) return "none";
  if (workspace === "worktree" && !table.has("repository")) {
    table.note(["workspace"], 'workspace = "worktree" needs a repository, like repository = "."');
  }
  for (const key of ["repository", "base"]) {
    if (workspace === "worktree" || !table.has(key)) continue;
    table.note([key], `${key} goes only with workspace = "worktree"`);
  }
  return workspace ?? "none";
}

function readSandbox(table: ConfigTable): Route["sandbox"] {
  const value = table.get("sandbox");
  if (value === undefined || value === "off") return [];
  const items: unknown[] = Array.isArray(value) ? value : [value];
  const known = SANDBOXES.filter((sandbox) => items.includes(sandbox));
  items.forEach((item, i) => {
    if (SANDBOXES.some((sandbox) => sandbox === item)) return;
    table.note(
      Array.isArray(value) ? ["sandbox", i] : ["sandbox"],
      'sandbox must be "off", "write-workspace", "no-network" or a list of the last two',
      nearest(item, Array.isArray(value) ? SANDBOXES : ["off", ...SANDBOXES]),
    );
  });
  return known;
}

function readEnv(table: ConfigTable): string[] {
  const entries = table.texts("env", 'a list of strings like ["API_KEY", "MODE=fast"]') ?? [];
  const seen = new Set<string>();
  entries.forEach((entry, i) => {
    const name = entry.split("=", 1)[0] ?? "";
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      table.note(["env", i], `env: ${shown(name)} is not the name of a variable`);
    } else if (/^(VIV|SWARM)_/.test(name)) {
      table.note(["env", i], `env: ${shown(name)} is reserved; viv sets VIV_ and SWARM_ itself`);
    } else if (seen.has(name)) table.note(["env", i], `env: ${shown(name)} is there twice`);
    seen.add(name);
  });
  return entries;
}
