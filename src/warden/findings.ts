import { formatUsd } from "../base/amount.ts";
import { formatDuration } from "../base/duration.ts";
import type { RuleAction, RuleName, Rules } from "./rule.ts";
import type { TargetKind } from "./warrant.ts";

/** One pass over a possible suspect. What is null or missing is not known. */
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

export interface Finding {
  rule: RuleName;
  action: RuleAction;
  kind: TargetKind;
  name: string;
  home: string | null;
  /** In words, with numbers. */
  evidence: string;
}

export interface Moment {
  now: number;
  /** Nothing counts as older than this. After a clock that jumped or a machine that slept: then. */
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
  const findings: Finding[] = [];
  for (const one of observations) {
    if (!one.isAlive) continue;
    const { kind, name, home } = one;
    for (const [rule, judge] of JUDGES) {
      const action = rules[rule]?.action;
      const evidence = action === undefined ? null : judge(rules, one, moment);
      if (action === undefined || evidence === null) continue;
      findings.push({ rule, action, kind, name, home, evidence });
    }
  }
  return findings;
}

/** Findings with the same key are one, until it has ceased. */
export function findingKey({ rule, kind, name, home }: Omit<Finding, "action" | "evidence">) {
  return JSON.stringify([rule, kind, name, home]);
}

/** The findings that are new, and the keys of those reported before that have ceased. */
export function compareFindings<T>(
  found: readonly Finding[],
  reported: ReadonlyMap<string, T>,
): { fresh: Finding[]; ceased: string[] } {
  const now = new Set(found.map(findingKey));
  return {
    fresh: found.filter((one) => !reported.has(findingKey(one))),
    ceased: [...reported.keys()].filter((key) => !now.has(key)),
  };
}

type Judge = (rules: Rules, seen: Observation, moment: Moment) => string | null;

const JUDGES: readonly (readonly [RuleName, Judge])[] = [
  [
    "no_output",
    (rules, { output, isBusy }, moment) => {
      if (!output || !isBusy) return null;
      const age = ageOf(output.at, moment);
      if (age === null || age < (rules.no_output?.afterMs ?? Number.POSITIVE_INFINITY)) return null;
      return `no new output since ${clockTime(output.at)}, ${ago(moment.now - output.at)}, ${output.where}`;
    },
  ],
  [
    "stale_heartbeat",
    (rules, { heartbeatAt, kind, name }, moment) => {
      const limit = rules.stale_heartbeat?.afterMs ?? Number.POSITIVE_INFINITY;
      const age = heartbeatAt == null ? null : ageOf(heartbeatAt, moment);
      if (heartbeatAt == null || age === null || age < limit) return null;
      const since = `${clockTime(heartbeatAt)}, ${ago(moment.now - heartbeatAt)}`;
      return `the last heartbeat of ${kind} ${name} was at ${since}, and its process lives`;
    },
  ],
  [
    "repeated_tool",
    (rules, { steps = [] }) => {
      const last = steps.at(-1);
      const times = last === undefined ? 0 : timesInARow(steps, last);
      if (last === undefined || times < (rules.repeated_tool?.times ?? Infinity)) return null;
      const target = last.target === "" ? "" : ` ${JSON.stringify(last.target.slice(0, 200))}`;
      return `${last.tool}${target} ${times} times in a row`;
    },
  ],
  [
    "over_budget",
    (_, { spent }) => {
      if (!spent || !(spent.usd > spent.budgetUsd)) return null;
      return `${formatUsd(spent.usd)} of ${formatUsd(spent.budgetUsd)} spent (${spent.of})`;
    },
  ],
  [
    "past_deadline",
    (rules, { deadline }, { now }) => {
      const limit = rules.past_deadline?.afterMs ?? Number.POSITIVE_INFINITY;
      if (!deadline || !(now - deadline.at >= limit) || now <= deadline.at) return null;
      const { at, task } = deadline;
      return `the deadline of ${task} was ${new Date(at).toISOString()}, ${ago(now - at)}`;
    },
  ],
];

function ageOf(at: number, { now, notBefore = Number.NEGATIVE_INFINITY }: Moment): number | null {
  return at > now ? null : now - Math.max(at, notBefore);
}

function timesInARow(steps: readonly Step[], { tool, target }: Step): number {
  const others = steps.findLastIndex((one) => one.tool !== tool || one.target !== target);
  return steps.length - 1 - others;
}

function clockTime(at: number): string {
  return `${new Date(at).toISOString().slice(11, 19)}Z`;
}

function ago(ms: number): string {
  return `${formatDuration(ms)} ago`;
}
