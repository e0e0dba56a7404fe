import type { ConfigTable } from "../base/config-table.ts";
import { parseDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import type { Section } from "../base/section.ts";
import { readRules } from "./rule.ts";
import { UNASKED, type Unasked } from "./warrant.ts";

export const MAX_POOL = 20;
const MAX_TIMEOUTS = 5;
/** Longer than that is no question, and a timer cannot wait much longer. */
const MAX_TIMEOUT_MS = 86_400_000;

export const WARDEN_DEFAULTS = {
  pool: 5,
  timeoutsMs: [60_000, 120_000, 240_000],
  killAfterMs: 10_000,
  unasked: "spare" as Unasked,
  patienceMs: 1_800_000,
  breaker: { executions: 3, withinMs: 600_000 },
};

/** `[warden]` of a viv.toml; undefined when there is none. Paths are as they are written. */
export const wardenSection = ((top) => {
  if (!top.has("warden")) return undefined;
  const table = top.section("warden");
  const config = {
    pool: table.whole("pool", MAX_POOL),
    timeoutsMs: readTimeouts(table),
    killAfterMs: table.duration("kill_after"),
    unasked: table.choice("unasked", UNASKED),
    patienceMs: table.duration("patience"),
    state: table.text("state", "the path of a directory"),
    tmuxSocket: table.text("tmux_socket", "the path of a tmux server's socket"),
    hook: table.text("hook", "a shell command"),
    webhook: table.text("webhook", "an address that begins with http:// or https://", isWebhook),
    // The rules look at these runs, state folders of crews, and tmux sessions (with `*`).
    runs: table.texts("runs", "a list of run directories") ?? [],
    crews: table.texts("crews", "a list of state folders of crews") ?? [],
    sessions: table.texts("sessions", 'a list of tmux sessions, like ["agent-*"]') ?? [],
    // Programs that may be typed to, though their screens are not known.
    ask: table.texts("ask", 'a list of programs that may be typed to, like ["my-agent"]') ?? [],
    breaker: readBreaker(table.section("breaker")),
    rules: readRules(table.section("rules")),
  };
  table.refuseOthers((key) =>
    ["executions", "within"].includes(key) ? "it belongs in [warden.breaker]" : undefined,
  );
  return config;
}) satisfies Section<unknown>;

function readBreaker(table: ConfigTable): typeof WARDEN_DEFAULTS.breaker {
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

/** `GT_DOG_POOL_SIZE`, or `--pool`. */
export function parsePool(text: string, what: string): number {
  const pool = /^\s*\d+\s*$/.test(text) ? Number(text) : Number.NaN;
  if (pool >= 1 && pool <= MAX_POOL) return pool;
  throw new VivError(
    "INVALID",
    `${what} ${JSON.stringify(text)} is no pool; it must be a whole number from 1 to ${MAX_POOL}.`,
  );
}

function isWebhook(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
