import type { ClaimTree } from "../base/clock.ts";

/**
 * The agents that other rooms run. The warden reads nothing else of a crew or of `viv up`;
 * `app/warden-directory.ts` has the implementations.
 */
export interface AgentDirectory {
  crew(stateFolder: string): AgentHome;
  /** The agents of a `viv up` around this pit. */
  fleet(pit: string): AgentHome;
}

/** One folder in which agents keep their state. */
export interface AgentHome {
  readonly folder: string;
  list(): AgentEntry[];
  find(name: string): AgentEntry | null;
  /** Steps after `position`, the oldest first; from null: the latest. */
  stepsFrom(position: number | null): { steps: AgentStep[]; position: number };
}

export interface AgentEntry {
  name: string;
  /** As its room calls it, and since when (ISO). */
  state: string;
  since: string;
  /** It has work now: silence is suspicious. */
  isBusy: boolean;
  /** Null while it has no process. */
  process: ClaimTree | null;
  /** "run": the process ends with its current run. */
  runsAs: "run" | "worker";
  /** Its growth is progress. */
  log: string | null;
  /** Where the agent looks for a question: the warden puts a link there. Null if nowhere. */
  questionLink: string | null;
  /** Dollars of today and their limit; null without a limit. */
  spent: { usd: number; budgetUsd: number } | null;
}

/** One tool call, thought or end of a run. */
export interface AgentStep {
  agent: string;
  /** Milliseconds since 1970. */
  at: number;
  tool?: { tool: string; target: string };
  endsRun?: true;
}
