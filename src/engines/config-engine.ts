import { type ConfigTable, nearest } from "../base/config-table.ts";
import { assertName } from "../base/names.ts";
import { shown } from "../base/shown.ts";

/** A model run instead of an executable: the keys of `[handlers.TYPE]` that go with `engine`. */
export interface EngineRoute {
  name: EngineName;
  /** A template's path, as it is written in the file; null: the scenario needs none. */
  prompt: string | null;
  /** Null: whatever the engine itself uses. */
  model: string | null;
  /** From the cheapest to the dearest, as they are written; a task's `tier_hint` names one. */
  tiers: readonly { name: string; model: string }[];
  /** After so many unproven attempts, the next tier. */
  escalateAfter: number | null;
  mode: "plan" | "edit";
  /** Of one attempt. */
  budget: { usd?: number; tokens?: number; turns?: number };
  /** Of one task, over all its attempts. */
  taskBudget: Money;
  /** What shares a rate limit. */
  account: string | null;
  /** Whether an attempt goes on with the session of the one before. */
  resume: boolean;
  settings: EngineSettings;
}

export interface Money {
  usd?: number;
  tokens?: number;
}

/** `[engines.NAME]` of viv.toml, over which a route's own keys go. */
export interface EngineSettings {
  /** The path or the name of the executable; null: the engine's own. */
  binary: string | null;
  /** Extra arguments, as they are. */
  flags: readonly string[];
  /** The vendor's word for how much it may do without asking; null: what `mode` needs. */
  permission: string | null;
  /** llm: where the API is, which protocol it speaks, and the name of the variable with the key. */
  url: string | null;
  api: (typeof APIS)[number] | null;
  keyEnv: string | null;
  /** llm: what fits into the model's window, in tokens. */
  contextTokens: number | null;
  /** script: the scenario. */
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
const SETTINGS_KEYS = [
  "binary",
  "flags",
  "permission",
  "url",
  "api",
  "key_env",
  "context_tokens",
  "scenario",
];

export const ENGINE_KEYS = [
  "engine",
  "prompt",
  "model",
  "tiers",
  "escalate_after",
  "mode",
  "budget",
  "task_budget",
  "account",
  "resume",
  ...SETTINGS_KEYS,
];

const NO_SETTINGS: EngineSettings = {
  binary: null,
  flags: [],
  permission: null,
  url: null,
  api: null,
  keyEnv: null,
  contextTokens: null,
  scenario: null,
};

export type EngineDefaults = ReadonlyMap<EngineName, EngineSettings>;

/** `[engines.claude]` and its like. */
export function readEngineDefaults(top: ConfigTable): EngineDefaults {
  const found = new Map<EngineName, EngineSettings>();
  const engines = top.table("engines");
  if (engines === undefined && top.has("engines")) {
    top.note(["engines"], "engines must hold a table for each engine, like [engines.claude]");
  }
  for (const key of engines?.keys ?? []) {
    const name = ENGINE_NAMES.find((one) => one === key);
    const table = engines?.table(key);
    if (name === undefined) {
      engines?.note([key], `there is no engine ${shown(key)}`, nearest(key, ENGINE_NAMES));
    } else if (table === undefined) {
      engines?.note([key], `${shown(key)} must be a table: [engines.${key}]`);
    } else {
      table.refuseUnknown(SETTINGS_KEYS, (wrong) =>
        ENGINE_KEYS.includes(wrong) ? "it belongs to a route, like [handlers.default]" : undefined,
      );
      found.set(name, readSettings(table, NO_SETTINGS));
    }
  }
  return found;
}

/** Undefined when the route has a handler instead. */
export function readEngine(table: ConfigTable, defaults: EngineDefaults): EngineRoute | undefined {
  if (!table.has("engine")) {
    for (const key of ENGINE_KEYS) {
      if (table.has(key))
        table.note([key], `${key} goes only with an engine, like engine = "claude"`);
    }
    return undefined;
  }
  const name = table.choice("engine", ENGINE_NAMES);
  if (name === undefined) return undefined;
  if (name !== "exec" && table.has("handler")) {
    table.note(["handler"], 'a route has a handler or an engine; only engine = "exec" takes both');
  }
  const prompt = table.text("prompt", "the path of a template") ?? null;
  if (prompt === null && !table.has("prompt") && name !== "script") {
    table.note(["engine"], `engine = "${name}" needs a prompt, like prompt = "prompts/task.md"`);
  }
  const model = table.text("model", "the name of a model") ?? null;
  const tiers = readTiers(table);
  const escalateAfter = table.whole("escalate_after", 1000) ?? null;
  if (escalateAfter !== null && tiers.length < 2) {
    table.note(["escalate_after"], "escalate_after needs tiers: at least two, the cheaper first");
  }
  const settings = readSettings(table, defaults.get(name) ?? NO_SETTINGS);
  if (name === "llm") checkLlm(table, settings, model !== null || tiers.length > 0);
  if (name === "script" && settings.scenario === null && !table.has("scenario")) {
    table.note(["engine"], 'engine = "script" needs a scenario, like scenario = "demo.toml"');
  }
  const account = table.attempt("account", () => {
    const given = table.text("account", "a name");
    return given === undefined ? undefined : assertName("account", given);
  });
  return {
    name,
    prompt,
    model,
    tiers,
    escalateAfter,
    mode: table.choice("mode", ["plan", "edit"]) ?? "edit",
    budget: readBudget(table, "budget", ["usd", "tokens", "turns"]),
    taskBudget: readBudget(table, "task_budget", ["usd", "tokens"]),
    // Whoever names none shares the vendor's: a limit that is hit once is hit by all.
    account: account ?? (name === "exec" || name === "script" ? null : name),
    resume: table.flag("resume") ?? true,
    settings,
  };
}

/** `{ usd = 2.00, tokens = 400000 }`. */
export function readBudget(
  table: ConfigTable,
  key: string,
  keys: readonly string[],
): { usd?: number; tokens?: number; turns?: number } {
  if (!table.has(key)) return {};
  const budget = table.table(key);
  if (budget === undefined) {
    table.note([key], `${key} must be a table like { ${keys.map((k) => `${k} = …`).join(", ")} }`);
    return {};
  }
  budget.refuseUnknown(keys, () => undefined);
  const usd = keys.includes("usd") ? budget.amount("usd") : undefined;
  const tokens = keys.includes("tokens") ? budget.whole("tokens") : undefined;
  const turns = keys.includes("turns") ? budget.whole("turns", 10_000) : undefined;
  return {
    ...(usd === undefined ? {} : { usd }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(turns === undefined ? {} : { turns }),
  };
}

function readTiers(table: ConfigTable): EngineRoute["tiers"] {
  if (!table.has("tiers")) return [];
  const tiers = table.table("tiers");
  if (tiers === undefined) {
    table.note(["tiers"], 'tiers must be a table like { small = "MODEL", large = "MODEL" }');
    return [];
  }
  return tiers.keys.flatMap((name) => {
    const model = tiers.text(name, "the name of a model");
    return model === undefined ? [] : [{ name, model }];
  });
}

function checkLlm(table: ConfigTable, settings: EngineSettings, hasModel: boolean): void {
  if (!hasModel) table.note(["engine"], 'engine = "llm" needs a model, like model = "…"');
  if (settings.api === "openai" && settings.url === null) {
    table.note(["engine"], 'api = "openai" needs a url, like url = "http://127.0.0.1:11434/v1"');
  }
}

function readSettings(table: ConfigTable, base: EngineSettings): EngineSettings {
  return {
    binary: table.text("binary", "the path or the name of a command") ?? base.binary,
    flags: table.texts("flags", 'a list of strings like ["--verbose"]') ?? base.flags,
    permission: table.text("permission", "the vendor's word for it") ?? base.permission,
    url: readUrl(table) ?? base.url,
    api: table.choice("api", APIS) ?? base.api,
    keyEnv: readKeyEnv(table) ?? base.keyEnv,
    contextTokens: table.whole("context_tokens") ?? base.contextTokens,
    scenario: table.text("scenario", "the path of a file") ?? base.scenario,
  };
}

function readUrl(table: ConfigTable): string | undefined {
  const url = table.text("url", "a URL like http://127.0.0.1:11434/v1");
  if (url === undefined || /^https?:\/\/\S+$/.test(url)) return url;
  table.note(["url"], "url must begin with http:// or https://");
  return undefined;
}

/** The name of a variable: a key in the file itself would be seen by everybody who reads it. */
function readKeyEnv(table: ConfigTable): string | undefined {
  const name = table.text("key_env", "the name of a variable");
  if (name === undefined || /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return name;
  table.note(["key_env"], "key_env must be the name of a variable that holds the key, not the key");
  return undefined;
}
