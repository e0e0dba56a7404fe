import { formatUsd } from "../base/amount.ts";
import { formatDuration } from "../base/duration.ts";
import { counted } from "../base/text.ts";
import type { RuleName, Rules } from "./config.ts";
import type { TargetKind } from "./warrant.ts";

/** One pass over a possible suspect. A fact that is null or missing is not known. */
export interface Observation {
  kind: TargetKind;
  name: string;
  /** Of a worker: its run. Of an agent: its crew's state folder. Of a session: its server's socket. */
  home: string | null;
  isAlive: boolean;
  /** It has work: an idle one may be silent. */
  isBusy: boolean;
  /** Its latest output, and where that was seen. */
  output?: { at: number; where: string } | null;
  heartbeatAt?: number | null;
  /** The last ones, the oldest first. */
  steps?: readonly Step[];
  spent?: { usd: number; budgetUsd: number; of: string } | null;
  deadline?: { at: number; task: string } | null;
}

export interface Step {
  tool: string;
  target: string;
}

export interface Finding extends Pick<Observation, "kind" | "name" | "home"> {
  rule: RuleName;
  action: "observe" | "file";
  /** In words, with numbers. */
  evidence: string;
}

export interface Moment {
  now: number;
  /** No age counts from before this: set after a clock jump, or a sleep of the machine. */
  notBefore?: number;
}

/**
 * The suspects among them, by which rule, and why. A dead one is none. A time in the future (the clock
 * was set back) does not count.
 */
export function findSuspects(
  rules: Rules,
  observations: readonly Observation[],
  moment: Moment,
): Finding[] {
  const names = Object.keys(JUDGES) as RuleName[];
  return observations.flatMap((one) => {
    const { kind, name, home, isAlive } = one;
    return names.flatMap((rule) => {
      const set = rules[rule];
      if (!isAlive || set === undefined) return [];
      const evidence = (JUDGES[rule] as Judge<never>)(set as never, one, moment);
      return evidence === null ? [] : [{ rule, action: set.action, kind, name, home, evidence }];
    });
  });
}

/** Findings with the same key are one, until it has ceased. */
export function findingKey({ rule, kind, name, home }: Omit<Finding, "action" | "evidence">) {
  return JSON.stringify([rule, kind, name, home]);
}

/** The evidence; null without suspicion. */
type Judge<R> = (rule: R, seen: Observation, moment: Moment) => string | null;

/** In the order in which findings are reported. */
const JUDGES: { [R in RuleName]-?: Judge<NonNullable<Rules[R]>> } = {
  no_output: ({ afterMs }, { output, isBusy }, moment) => {
    if (!output || !isBusy || !isOlder(output.at, afterMs, moment)) return null;
    return `no new output since ${timeAgo(output.at, moment)}, ${output.where}`;
  },
  stale_heartbeat: ({ afterMs }, { heartbeatAt, kind, name }, moment) => {
    if (heartbeatAt == null || !isOlder(heartbeatAt, afterMs, moment)) return null;
    const since = timeAgo(heartbeatAt, moment);
    return `the last heartbeat of ${kind} ${name} was at ${since}, and its process lives`;
  },
  repeated_tool: (rule, { steps = [] }) => {
    const last = steps.at(-1);
    const times = last === undefined ? 0 : timesInARow(steps, last);
    if (last === undefined || times < rule.times) return null;
    const target = last.target === "" ? "" : ` ${JSON.stringify(last.target.slice(0, 200))}`;
    return `${last.tool}${target} ${counted(times, "time")} in a row`;
  },
  over_budget: (_, { spent }) => {
    if (!spent || !(spent.usd > spent.budgetUsd)) return null;
    return `${formatUsd(spent.usd)} of ${formatUsd(spent.budgetUsd)} spent (${spent.of})`;
  },
  past_deadline: ({ afterMs }, { deadline }, { now }) => {
    if (!deadline || !(now - deadline.at >= afterMs) || now <= deadline.at) return null;
    const { at, task } = deadline;
    return `the deadline of ${task} was ${new Date(at).toISOString()}, ${ago(now - at)}`;
  },
};

function isOlder(at: number, ms: number, { now, notBefore }: Moment): boolean {
  return at <= now && now - Math.max(at, notBefore ?? Number.NEGATIVE_INFINITY) >= ms;
}

function timesInARow(steps: readonly Step[], { tool, target }: Step): number {
  const others = steps.findLastIndex((one) => one.tool !== tool || one.target !== target);
  return steps.length - 1 - others;
}

function timeAgo(at: number, { now }: Moment): string {
  return `${new Date(at).toISOString().slice(11, 19)}Z, ${ago(now - at)}`;
}

function ago(ms: number): string {
  return `${formatDuration(ms)} ago`;
}
