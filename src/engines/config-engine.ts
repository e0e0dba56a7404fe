import { type ConfigTable, nearest } from "../base/config-table.ts";
import { assertName } from "../base/names.ts";
import type { Config, Section } from "../base/section.ts";
import { shown } from "../base/text.ts";
import type { RoutedEngine } from "./accounts/account.ts";
import type { Limit } from "./costs/budget.ts";
import { readLimit } from "./costs/config-costs.ts";

/** A model run instead of an executable: the keys of `[handlers.TYPE]` that go with `engine`. */
export interface EngineRoute {
  name: EngineName;
  /** A template's path, as written in the file; null: the scenario needs none. */
  prompt: string | null;
  model: string | null;
  /** From the cheapest to the dearest; a task's `tier_hint` names one. */
  tiers: readonly { name: string; model: string }[];
  /** After so many unproven attempts, the next tier. */
  escalateAfter: number | null;
  mode: "plan" | "edit";
  /** Of one attempt. */
  budget: Limit & { turns?: number };
  /** Of one task, over all its attempts. */
  taskBudget: Limit;
  /** Routes with the same account share a rate limit. */
  account: string | null;
  resume: boolean;
  settings: EngineSettings;
}

/** `[engines.NAME]` of viv.toml; a route's own keys override it. */
export interface EngineSettings {
  /** The path or the name of the executable; null: the engine's own. */
  binary: string | null;
  flags: readonly string[];
  /** The vendor's word for its permissions; null: by `mode`. */
  permission: string | null;
  /** llm: the address of the API, its protocol, and the name of the variable with the key. */
  url: string | null;
  api: (typeof APIS)[number] | null;
  keyEnv: string | null;
  contextTokens: number | null;
  scenario: string | null;
}

export const ENGINE_NAMES = [
  "exec",
  "claude",
  "codex",
  "gemini",
  "opencode",
  "llm",
  "script",
] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

const APIS = ["anthropic", "openai"] as const;
const SETTINGS_KEYS = "binary flags permission url api key_env context_tokens scenario".split(" ");
const ROUTE_KEYS =
  "engine prompt model tiers escalate_after mode budget task_budget account resume".split(" ");
/** The keys of `[handlers.TYPE]` that go only with an engine. */
export const ENGINE_KEYS: readonly string[] = [...ROUTE_KEYS, ...SETTINGS_KEYS];

/** `[engines.claude]` and the others: for all runs with that engine. */
export const enginesSection: Section<ReadonlyMap<EngineName, EngineSettings>> = (top) => {
  const found = new Map<EngineName, EngineSettings>();
  const tables = top.tables("engines", "a table for each engine, like [engines.claude]");
  for (const [key, table] of tables) {
    const name = ENGINE_NAMES.find((one) => one === key);
    if (name === undefined) {
      table.note([], `there is no engine ${shown(key)}`, nearest(key, ENGINE_NAMES));
      continue;
    }
    found.set(name, readSettings(table));
    table.refuseOthers((wrong) =>
      ROUTE_KEYS.includes(wrong) ? "it belongs to a route, like [handlers.default]" : undefined,
    );
  }
  return found;
};

/** The engine's half of each `[handlers.TYPE]`; work/config-route.ts reads the other half. */
export const routedEnginesSection: Section<ReadonlyMap<string, RoutedEngine>> = (top, section) => {
  const defaults = section(enginesSection);
  const handlers = top.table("handlers");
  return new Map(
    (handlers?.keys ?? []).flatMap((type) => {
      const table = handlers?.table(type);
      return table === undefined ? [] : [[type, { engine: readEngine(table, defaults) }]];
    }),
  );
};

/** The engine for tasks of this type: of its route, or of the default. */
export function engineFor(config: Config, type: string): EngineRoute | undefined {
  const routed = config.section(routedEnginesSection);
  return (routed.get(type) ?? routed.get("default"))?.engine;
}

/** Undefined: the route has a handler instead. */
function readEngine(
  table: ConfigTable,
  defaults: ReadonlyMap<EngineName, EngineSettings>,
): EngineRoute | undefined {
  const given = ENGINE_KEYS.filter((key) => table.has(key));
  const name = table.choice("engine", ENGINE_NAMES);
  for (const key of table.has("engine") ? [] : given) {
    table.note([key], `${key} goes only with an engine, like engine = "claude"`);
  }
  if (name === undefined) return undefined;
  if (name !== "exec" && table.has("handler")) {
    table.note(["handler"], 'a route has a handler or an engine; only engine = "exec" takes both');
  }
  const needs = (what: string) => table.note(["engine"], `engine = "${name}" needs ${what}`);
  if (!table.has("prompt") && name !== "script") {
    needs('a prompt, like prompt = "prompts/task.md"');
  }
  const model = table.text("model", "the name of a model") ?? null;
  const tiers = readTiers(table);
  const escalateAfter = table.whole("escalate_after", 1000) ?? null;
  if (escalateAfter !== null && tiers.length < 2) {
    table.note(["escalate_after"], "escalate_after needs tiers: at least two, the cheaper first");
  }
  const settings = readSettings(table, defaults.get(name));
  if (name === "llm" && model === null && tiers.length === 0) needs('a model, like model = "…"');
  if (name === "llm" && settings.api === "openai" && settings.url === null) {
    table.note(["engine"], 'api = "openai" needs a url, like url = "http://127.0.0.1:11434/v1"');
  }
  if (name === "script" && settings.scenario === null && !table.has("scenario")) {
    needs('a scenario, like scenario = "demo.toml"');
  }
  const account = table.text("account", "a name");
  // By default all routes of a vendor share an account.
  const shared = name === "exec" || name === "script" ? null : name;
  return {
    name,
    prompt: table.text("prompt", "the path of a template") ?? null,
    model,
    tiers,
    escalateAfter,
    mode: table.choice("mode", ["plan", "edit"]) ?? "edit",
    budget: {
      turns: table.table("budget")?.whole("turns", 10_000),
      ...readLimit(table, "budget", ", turns = …"),
    },
    taskBudget: readLimit(table, "task_budget"),
    account: (account && table.attempt("account", () => assertName("account", account))) || shared,
    resume: table.flag("resume") ?? true,
    settings,
  };
}

function readTiers(table: ConfigTable): EngineRoute["tiers"] {
  const tiers = table.section("tiers", ' like { small = "MODEL", large = "MODEL" }');
  return tiers.keys.flatMap((name) => {
    const model = tiers.text(name, "the name of a model");
    return model === undefined ? [] : [{ name, model }];
  });
}

function readSettings(table: ConfigTable, base?: EngineSettings): EngineSettings {
  return {
    binary: table.text("binary", "the path or the name of a command") ?? base?.binary ?? null,
    flags: table.texts("flags", 'a list of strings like ["--verbose"]') ?? base?.flags ?? [],
    permission: table.text("permission", "the vendor's word for it") ?? base?.permission ?? null,
    url: table.text("url", URL_LIKE, (url) => /^https?:\/\/\S+$/.test(url)) ?? base?.url ?? null,
    api: table.choice("api", APIS) ?? base?.api ?? null,
    keyEnv:
      table.text("key_env", KEY_ENV, (name) => /^[A-Za-z_]\w*$/.test(name)) ?? base?.keyEnv ?? null,
    contextTokens: table.whole("context_tokens") ?? base?.contextTokens ?? null,
    scenario: table.text("scenario", "the path of a file") ?? base?.scenario ?? null,
  };
}

const URL_LIKE = "a URL like http://127.0.0.1:11434/v1";
/** A key in the file itself could be read by others. */
const KEY_ENV = "the name of a variable that holds the key, not the key";
