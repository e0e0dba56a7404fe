import type { ClaimTree, ProcessIdentity } from "../base/clock.ts";

/**
 * The files in `.viv/up/` of a pit: written by `viv up`, read by `viv status --config`, by the
 * warden and by the next `viv up`.
 *
 * - starting: its process runs and has not reported yet that it waits for work.
 * - working: on some food, or its `run` is under way.
 * - idle: it waits for food.
 * - paused: it waits while food is held back: an account, a budget, a full review.
 * - resting: until its next run, or until it is started again.
 * - parked: it kept dying, or cannot work as configured; it is not started again.
 * - stopped: together with the service.
 * - ended: by itself, because nothing was left to do (`--drain`).
 */
export const AGENT_STATES = [
  "starting",
  "working",
  "idle",
  "paused",
  "resting",
  "parked",
  "stopped",
  "ended",
] as const;

export type AgentStateName = (typeof AGENT_STATES)[number];

export interface AgentState {
  name: string;
  species: string;
  state: AgentStateName;
  /** Of its worker; without one, of its run. Null when there is no process. */
  pid: number | null;
  started: string | null;
  boot: string | null;
  host: string | null;
  /** When it came into that state. */
  since: string;
  /** How often it was started again. */
  restarts: number;
  last_run: string | null;
  next_run: string | null;
  /** An exit status, or the name of a signal. */
  last_exit: number | string | null;
  note: string;
  /** The tree of a run that is under way, so that the next `viv up` can end it. */
  run: ClaimTree | null;
}

export interface ServiceState extends ProcessIdentity {
  name: "service";
  state: "working" | "stopping" | "stopped" | "ended";
  since: string;
  /** The agents.toml. */
  config: string;
  agents: string[];
  note: string;
}

/** Null for any other text, such as one that a crash of the machine has left. */
export function parseAgentState(text: string): AgentState | null {
  const value = objectFrom(text);
  const isState = AGENT_STATES.some((name) => name === value?.state);
  return value !== null && isState ? (value as unknown as AgentState) : null;
}

export function parseServiceState(text: string): ServiceState | null {
  const value = objectFrom(text);
  const isOne =
    typeof value?.pid === "number" &&
    [value.host, value.boot, value.started, value.state].every((one) => typeof one === "string");
  return isOne ? (value as unknown as ServiceState) : null;
}

function objectFrom(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // torn by a power loss
  }
}
