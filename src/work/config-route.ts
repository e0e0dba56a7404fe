import { type ConfigTable, nearest } from "../base/config-table.ts";
import { assertTypeName } from "../base/names.ts";
import type { Config, Section } from "../base/section.ts";
import { shown } from "../base/text.ts";
import type { RoutedEngine } from "../engines/accounts/account.ts";
import { ENGINE_KEYS, routedEnginesSection } from "../engines/config-engine.ts";
import { belongsOnTop } from "../queue/config-run.ts";
import { NEED_KEYS, type Needs, readNeeds } from "./config-needs.ts";

/** How tasks of one type are worked on: a table `[handlers.TYPE]` of viv.toml. */
export interface Route extends RoutedEngine, Needs {
  /** `default`, or the type it is for. */
  type: string;
  /** The command and its arguments, as they are written in the file; none with most engines. */
  handler: readonly string[];
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

/** By type; `default` is for every type that has none. */
export const routesSection: Section<ReadonlyMap<string, Route>> = (top, section) => {
  const routed = section(routedEnginesSection);
  const tables = top.tables("handlers", "a table for each type, like [handlers.default]");
  return new Map(
    tables.map(([type, table]) => {
      top.table("handlers")?.attempt(type, () => assertTypeName(type));
      return [type, { ...routed.get(type), ...readRoute(type, table) }];
    }),
  );
};

/** `[limits]`. */
export const limitsSection = ((top) => {
  const table = top.section("limits");
  const limits = {
    review: table.whole("review"),
    logBytes: table.size("log"),
    workspaceBytes: table.size("workspaces"),
    freeBytes: table.size("free_disk"),
    setupBytes: table.size("setup_cache"),
  };
  table.refuseOthers(belongsOnTop);
  return limits;
}) satisfies Section<unknown>;

/** The route for tasks of this type: its own, or the default. Without one it is not claimed. */
export function routeFor(config: Config, type: string): Route | undefined {
  const routes = config.section(routesSection);
  return routes.get(type) ?? routes.get("default");
}

/** Whether tasks of any route have workspaces. */
export function hasWorkspaces(config: Config | undefined): config is Config {
  const routes = [...(config?.section(routesSection).values() ?? [])];
  return routes.some(({ workspace }) => workspace !== "none");
}

/** The types that have a route; null means any, because there is a default. */
export function typesOf(config: Config): string[] | null {
  const routes = config.section(routesSection);
  return routes.has("default") ? null : [...routes.keys()];
}

/** Why no route takes tasks of this type; null when one does, or none is written at all. */
export function noRoute(config: Config, type: string): string | null {
  const types = [...config.section(routesSection).keys()];
  if (types.length === 0 || routeFor(config, type) !== undefined) return null;
  const meant = nearest(type, types);
  const todo = `write [handlers.${/^[\w-]+$/.test(type) ? type : shown(type)}] into ${config.file}`;
  const hint = meant === undefined ? todo : `did you mean ${meant}? Or ${todo}`;
  return `no route takes tasks of type ${type}, so that it waits; ${hint}`;
}

/** A hint for a route's key that stands above the first table by mistake, and for a table of another name. */
export function belongsInRoute(key: string, isTable: boolean): string | undefined {
  if (/^(routes?|tasks?|types?)$/.test(key)) return "a route is written as [handlers.TYPE]";
  if (isTable) return undefined;
  const isRouteKey = [...OWN_KEYS, ...NEED_KEYS, ...ENGINE_KEYS].includes(key);
  return isRouteKey ? "it belongs in a table like [handlers.default]" : undefined;
}

const OWN_KEYS = (
  "handler timeout max_attempts backoff done_when done_when_timeout review " +
  "workspace repository base sandbox env"
).split(" ");

/** Notes every mistake in the table; with one, the route is not used. */
function readRoute(type: string, table: ConfigTable): Route {
  const workspace = readWorkspace(table);
  const route = {
    type,
    handler: readHandler(table),
    workspace,
    ...readNeeds(table, workspace),
    sandbox: readSandbox(table),
    env: readEnv(table),
    timeoutMs: table.duration("timeout"),
    maxAttempts: table.whole("max_attempts", 1000),
    backoffMs: table.duration("backoff"),
    doneWhen: table.text("done_when", "a command"),
    doneWhenTimeoutMs: table.duration("done_when_timeout"),
    review: table.flag("review"),
    repository: table.text("repository", "the path of a git repository"),
    base: table.text("base", "a branch or a commit"),
  };
  table.refuseOthers((key) =>
    // `[handlers.a.b]` is a table b in a, and not the type a.b.
    table.hasTable(key) && !key.includes("budget")
      ? `a type with a dot in it needs quotes: [handlers.${shown(`${type}.${key}`)}]`
      : belongsOnTop(key),
  );
  return route;
}

function readHandler(table: ConfigTable): string[] {
  // Beside another engine it is a mistake, which the engine's section notes: the key is known.
  const isThere = table.has("handler");
  if (table.has("engine") && table.get("engine") !== "exec") return [];
  // `[handlers.a.b]` alone: the mistake is that of the type's name.
  const isHalf = table.keys.length > 0 && table.keys.every((key) => table.hasTable(key));
  if (!isThere && !table.isMisspelt("handler") && !isHalf) {
    table.note([], `${table.title} needs a handler, like handler = "./handle.sh", or an engine`);
  }
  return table.command("handler", '["python3", "audit.py"]') ?? [];
}

function readWorkspace(table: ConfigTable): Route["workspace"] {
  const workspace = table.choice("workspace", WORKSPACES);
  if (workspace === "worktree" && !table.has("repository")) {
    table.note(["workspace"], 'workspace = "worktree" needs a repository, like repository = "."');
  }
  const isWorktree = workspace === "worktree" || (!workspace && table.has("workspace"));
  for (const key of ["repository", "base"]) {
    if (isWorktree || !table.has(key)) continue;
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
    const note = (what: string) => table.note(["env", i], `env: ${shown(name)} is ${what}`);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) note("not the name of a variable");
    else if (/^(VIV|SWARM)_/.test(name)) note("reserved; viv sets VIV_ and SWARM_ itself");
    else if (seen.has(name)) note("there twice");
    seen.add(name);
  });
  return entries;
}
