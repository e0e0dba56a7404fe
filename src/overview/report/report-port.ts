import { type Context, definePort } from "../../operation/operation.ts";

export interface CrewMemberFact {
  name: string;
  isParked: boolean;
  /** About its state. */
  note: string;
  usdToday: number;
}

export interface CrewFacts {
  members: CrewMemberFact[];
  /** Runs that ended in the period; milliseconds since 1970. */
  runs: { name: string; from: number; to: number; outcome: string }[];
}

export interface KillFact {
  kind: string;
  target: string;
  /** Of a worker its run, of an agent its crew's state folder. */
  home: string | null;
  at: string;
  why: string;
  warrant: string;
  receipt: string;
  tasks: string[];
}

export interface WardenFacts {
  /** Why the pool is paused; null when it is not. */
  paused: string | null;
  /** Executions that wait for a person. */
  held: string[];
  /** In the period, the latest first. */
  kills: KillFact[];
}

/** An agent or a part of `viv up` that is not started again. */
export interface ParkedAgent {
  name: string;
  note: string;
  /** Shows it. */
  command: string;
}

/** Other rooms' facts for a report. Null: there is no such thing here. */
export interface ReportPort {
  crew(context: Context, since: string): Promise<CrewFacts | null>;
  warden(context: Context, since: string): Promise<WardenFacts | null>;
  /** Of the `viv up` that works on this run. */
  parkedAgents(run: string): Promise<ParkedAgent[]>;
  /** Schedules whose last fire could not be enqueued, with the reason. */
  failedSchedules(context: Context): Promise<{ name: string; note: string }[]>;
  /** What that `viv up` says of its viv.toml; null: nothing. */
  upNote(run: string): string | null;
  /** Of these commits, those not in the branch `target` (null: in what is checked out); none where that cannot be told. */
  commitsNotIn(
    repository: string,
    target: string | null,
    commits: readonly string[],
  ): Promise<string[]>;
  /** The run that commands without --run are about; null when they need one. */
  defaultRun(context: Context): Promise<string | null>;
}

export const reportPort = definePort<ReportPort>("report");
