import type { ConfigTable } from "../base/config-table.ts";
import { parseDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import { type Rules, readRules } from "./rule.ts";
import { UNASKED, type Unasked } from "./warrant.ts";

/** `[warden]` of a viv.toml. What it does not say is missing; paths are as they are written. */
export interface WardenConfig {
  pool?: number;
  timeoutsMs?: number[];
  killAfterMs?: number;
  unasked?: Unasked;
  patienceMs?: number;
  state?: string;
  tmuxSocket?: string;
  hook?: string;
  webhook?: string;
  /** Whom the rules look at: runs, state folders of crews, and names of tmux sessions with `*`. */
  runs: string[];
  crews: string[];
  sessions: string[];
  /** Programs that may be typed to, though their screens are not known. */
  ask: string[];
  breaker: { executions?: number; withinMs?: number };
  rules: Rules;
}

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

const TEXTS = {
  state: "the path of a directory",
  tmux_socket: "the path of a tmux server's socket",
  hook: "a shell command",
};
const LISTS = {
  runs: "a list of run directories",
  crews: "a list of state folders of crews",
  sessions: 'a list of names of tmux sessions, like ["agent-*"]',
  ask: 'a list of names of programs that may be typed to, like ["my-agent"]',
};
const KEYS = [
  ...["pool", "timeouts", "kill_after", "unasked", "patience", "webhook", "breaker", "rules"],
  ...Object.keys(TEXTS),
  ...Object.keys(LISTS),
];

/** Undefined when there is no `[warden]`. What is wrong in it is noted, each at its line. */
export function readWarden(top: ConfigTable): WardenConfig | undefined {
  const table = top.table("warden");
  if (table === undefined) {
    if (top.has("warden")) top.note(["warden"], "warden must be a table: [warden]");
    return undefined;
  }
  table.refuseUnknown(KEYS, (key) =>
    ["executions", "within"].includes(key) ? "it belongs in [warden.breaker]" : undefined,
  );
  const pool = table.whole("pool", MAX_POOL);
  const timeoutsMs = readTimeouts(table);
  const killAfterMs = table.duration("kill_after");
  const patienceMs = table.duration("patience");
  const unasked = table.text("unasked", UNASKED.join(" or "));
  const isUnasked = unasked === undefined || UNASKED.includes(unasked as Unasked);
  if (!isUnasked) table.note(["unasked"], `unasked must be ${UNASKED.join(" or ")}`);
  const state = table.text("state", TEXTS.state);
  const tmuxSocket = table.text("tmux_socket", TEXTS.tmux_socket);
  const hook = table.text("hook", TEXTS.hook);
  const webhook = table.text("webhook", "an address that begins with http:// or https://");
  const isAddress = webhook === undefined || isWebhook(webhook);
  if (!isAddress) {
    table.note(["webhook"], "webhook must be an address that begins with http:// or https://");
  }
  return {
    ...(pool === undefined ? {} : { pool }),
    ...(timeoutsMs === undefined ? {} : { timeoutsMs }),
    ...(killAfterMs === undefined ? {} : { killAfterMs }),
    ...(patienceMs === undefined ? {} : { patienceMs }),
    ...(unasked === undefined || !isUnasked ? {} : { unasked: unasked as Unasked }),
    ...(state === undefined ? {} : { state }),
    ...(tmuxSocket === undefined ? {} : { tmuxSocket }),
    ...(hook === undefined ? {} : { hook }),
    ...(webhook === undefined || !isAddress ? {} : { webhook }),
    runs: table.texts("runs", LISTS.runs) ?? [],
    crews: table.texts("crews", LISTS.crews) ?? [],
    sessions: table.texts("sessions", LISTS.sessions) ?? [],
    ask: table.texts("ask", LISTS.ask) ?? [],
    breaker: readBreaker(table),
    rules: readRules(table),
  };
}

function readTimeouts(table: ConfigTable): number[] | undefined {
  const value = table.get("timeouts");
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) {
    table.note(["timeouts"], 'timeouts must be a list of durations, like ["60s", "120s", "240s"]');
    return undefined;
  }
  return table.attempt("timeouts", () => parseTimeouts(value.map(String), "timeouts"));
}

function readBreaker(warden: ConfigTable): WardenConfig["breaker"] {
  const table = warden.table("breaker");
  if (table === undefined) {
    if (warden.has("breaker")) {
      warden.note(["breaker"], "breaker must be a table: [warden.breaker]");
    }
    return {};
  }
  table.refuseUnknown(["executions", "within"], () => undefined);
  const executions = table.whole("executions");
  const withinMs = table.duration("within");
  return {
    ...(executions === undefined ? {} : { executions }),
    ...(withinMs === undefined ? {} : { withinMs }),
  };
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

export function isWebhook(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
