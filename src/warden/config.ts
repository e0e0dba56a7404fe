import type { ConfigTable } from "../base/config-table.ts";
import { parseDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import type { Section } from "../base/section.ts";
import { UNASKED, type Unasked } from "./warrant.ts";

export const MAX_POOL = 20;
const MAX_TIMEOUTS = 5;
/** Longer than that is no question, and a timer cannot wait much longer. */
const MAX_TIMEOUT_MS = 86_400_000;

/** `[warden]` of a viv.toml. Paths are as they are written. */
export interface WardenConfig {
  /** How many dogs. */
  pool: number;
  /** Of the attempts, in order. */
  timeoutsMs: readonly number[];
  killAfterMs: number;
  /** Unless the warrant has its own. */
  unasked: Unasked;
  patienceMs: number;
  /** So many agents may be ended within that time. */
  breaker: { executions: number; withinMs: number };
  state?: string;
  tmuxSocket?: string;
  hook?: string;
  webhook?: string;
  /** The rules look at these runs, state folders of crews, and tmux sessions (with `*`). */
  runs: readonly string[];
  crews: readonly string[];
  sessions: readonly string[];
  rules: Rules;
  /** Programs that may be typed to, though their screens are not known. */
  ask: readonly string[];
}

export const WARDEN_DEFAULTS: WardenConfig = {
  pool: 5,
  timeoutsMs: [60_000, 120_000, 240_000],
  killAfterMs: 10_000,
  unasked: "spare",
  patienceMs: 1_800_000,
  breaker: { executions: 3, withinMs: 600_000 },
  ...{ runs: [], crews: [], sessions: [], rules: {}, ask: [] },
};

/** Undefined without a `[warden]`: then `viv up` has none. */
export const wardenSection = ((top): WardenConfig | undefined => {
  if (!top.has("warden")) return undefined;
  const table = top.section("warden");
  const defaults = WARDEN_DEFAULTS;
  const config = {
    pool: table.whole("pool", MAX_POOL) ?? defaults.pool,
    timeoutsMs: readTimeouts(table) ?? defaults.timeoutsMs,
    killAfterMs: table.duration("kill_after") ?? defaults.killAfterMs,
    unasked: table.choice("unasked", UNASKED) ?? defaults.unasked,
    patienceMs: table.duration("patience") ?? defaults.patienceMs,
    state: table.text("state", "the path of a directory"),
    tmuxSocket: table.text("tmux_socket", "the path of a tmux server's socket"),
    hook: table.text("hook", "a shell command"),
    webhook: table.text("webhook", "an address that begins with http:// or https://", isWebhook),
    runs: table.texts("runs", "a list of run directories") ?? [],
    crews: table.texts("crews", "a list of state folders of crews") ?? [],
    sessions: table.texts("sessions", 'a list of tmux sessions, like ["agent-*"]') ?? [],
    ask: table.texts("ask", 'a list of programs that may be typed to, like ["my-agent"]') ?? [],
    breaker: readBreaker(table.section("breaker")),
    rules: readRules(table.section("rules")),
  };
  table.refuseOthers((key) =>
    ["executions", "within"].includes(key) ? "it belongs in [warden.breaker]" : undefined,
  );
  return config;
}) satisfies Section<unknown>;

function readBreaker(table: ConfigTable): WardenConfig["breaker"] {
  const { executions, withinMs } = WARDEN_DEFAULTS.breaker;
  const breaker = {
    executions: table.whole("executions") ?? executions,
    withinMs: table.duration("within") ?? withinMs,
  };
  table.refuseOthers();
  return breaker;
}

function readTimeouts(table: ConfigTable): number[] | undefined {
  const value = table.get("timeouts");
  if (value === undefined) return undefined;
  if (Array.isArray(value)) {
    return table.attempt("timeouts", () => parseTimeouts(value.map(String), "timeouts"));
  }
  table.note(["timeouts"], 'timeouts must be a list of durations, like ["60s", "120s", "240s"]');
  return undefined;
}

/** One for each attempt: `60s`, `120s`, `240s`. */
export function parseTimeouts(texts: readonly string[], what: string): number[] {
  if (texts.length < 1 || texts.length > MAX_TIMEOUTS) {
    const message = `${what} must be from one to five durations, and these are ${texts.length}.`;
    throw new VivError("INVALID", message);
  }
  return texts.map((text) => {
    const ms = parseDuration(text, what);
    if (ms > 0 && ms <= MAX_TIMEOUT_MS) return ms;
    throw new VivError("INVALID", `${what} ${JSON.stringify(text)} is not between 1ms and 1d.`);
  });
}

/** `GT_DOG_POOL_SIZE`. */
export function parsePool(text: string, what: string): number {
  const pool = /^\s*\d+\s*$/.test(text) ? Number(text) : Number.NaN;
  if (pool >= 1 && pool <= MAX_POOL) return pool;
  const message = `${what} ${JSON.stringify(text)} is no pool; it must be a whole number from 1 to ${MAX_POOL}.`;
  throw new VivError("INVALID", message);
}

function isWebhook(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** `observe`: report the suspect. `file`: file a warrant. */
const RULE_ACTIONS = ["observe", "file"] as const;

interface Rule {
  action: (typeof RULE_ACTIONS)[number];
  /** For the warrants that it files; else the warden's own. */
  patienceMs?: number;
}

/** The rules that are set; each finds suspects of its own kind. */
export interface Rules {
  /** No new output on its terminal, in its log or its transcript for this long. */
  no_output?: Rule & { afterMs: number };
  /** The worker's heartbeat is this old, and its process lives. */
  stale_heartbeat?: Rule & { afterMs: number };
  /** The same tool with the same target this often in a row. */
  repeated_tool?: Rule & { times: number };
  /** It spent more than it may. */
  over_budget?: Rule;
  /** Its task's deadline passed this long ago. */
  past_deadline?: Rule & { afterMs: number };
}

export type RuleName = keyof Rules;

const EXAMPLES = { after: '{ after = "10m", action = "file" }', times: "{ times = 5 }" };

/** `[warden.rules]`: each rule is its number alone, or a table with that and its action. */
function readRules(table: ConfigTable): Rules {
  const after = (name: RuleName, missing?: 0) => {
    // Zero is a time only after a deadline: everything is silent for no time at all.
    const duration = (where: ConfigTable, key: string) => where.duration(key, missing === 0);
    const found = readRule(table, name, "after", duration, missing);
    return found && { afterMs: found.value, ...found.rule };
  };
  const repeated = readRule(table, "repeated_tool", "times", (where, key) =>
    where.whole(key, Number.POSITIVE_INFINITY, 2),
  );
  const budget = table.table("over_budget");
  const isOn = budget ?? table.flag("over_budget", 'true, false or { action = "file" }');
  const rules = {
    no_output: after("no_output"),
    stale_heartbeat: after("stale_heartbeat"),
    repeated_tool: repeated && { times: repeated.value, ...repeated.rule },
    over_budget: isOn ? readAction(budget) : undefined,
    past_deadline: after("past_deadline", 0),
  };
  table.refuseOthers();
  // Only those that are set: without any, no pass is made.
  return Object.fromEntries(Object.entries(rules).filter(([, rule]) => rule)) as Rules;
}

function readRule(
  rules: ConfigTable,
  name: RuleName,
  key: keyof typeof EXAMPLES,
  read: (table: ConfigTable, key: string) => number | undefined,
  missing?: number,
): { value: number; rule: Rule } | undefined {
  const table = rules.table(name);
  let value = table ? read(table, key) : read(rules, name);
  if (table && !table.has(key)) {
    value = missing;
    if (missing === undefined) rules.note([name], `${name} needs ${key}, like ${EXAMPLES[key]}`);
  }
  const rule = readAction(table);
  return value === undefined ? undefined : { value, rule };
}

function readAction(table: ConfigTable | undefined): Rule {
  const action = table?.choice("action", RULE_ACTIONS) ?? "observe";
  const rule = { action, patienceMs: table?.duration("patience") };
  table?.refuseOthers();
  return rule;
}
