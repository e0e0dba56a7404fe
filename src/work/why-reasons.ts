import { formatDuration } from "../base/duration.ts";
import { isTypeName } from "../base/names.ts";
import { type AccountState, describeAccount } from "../engines/accounts/account.ts";
import { type HistoryRecord, isAttempt } from "../queue/attempt.ts";
import { chokesIn, describeChoke, isNoWorkerLeft, mayTry, takes } from "../queue/choke.ts";
import type { TaskState } from "../queue/states.ts";
import type { Task } from "../queue/task.ts";

/** Why a task is not moving: every reason, in the order in which they would have to go away. */
export interface Reason {
  code: ReasonCode;
  text: string;
  /** The command that would change it, when there is one. */
  command?: string;
}

export const REASON_CODES = [
  "quarantined",
  "unreadable",
  "dependency_failed",
  "dependency_unknown",
  "dependency_waiting",
  "dependency_cycle",
  "not_before",
  "rate_limited",
  "account_closed",
  "budget_used_up",
  "gate_full",
  "review_full",
  "resting",
  "choked",
  "free",
  "no_worker",
  "queued",
  "worker_silent",
  "running",
  "in_review",
  "failed",
  "cancelled",
  "done",
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

export interface WhyFacts {
  id: string;
  state: TaskState | "quarantined";
  since: string;
  task: Task | null;
  worker?: string;
  /** The process tree behind the claim, if its worker has noted one. */
  process?: { pid: number; vitality: "alive" | "gone" | "unknown" };
  quarantineReason?: string;
  history: readonly HistoryRecord[];
  dependencies: readonly {
    id: string;
    met: boolean;
    state: TaskState | "quarantined" | "unknown";
    worker?: string;
    since?: string;
  }[];
  /** A dependency cycle through this task, as `[id, …, id]`. */
  cycle: readonly string[] | null;
  workers: readonly {
    name: string;
    alive: boolean;
    types: readonly string[] | null;
    age: number | null;
  }[];
  /** The account that tasks of its type use, if they use one. */
  account?: AccountState;
  /** The budget that pays for tasks of its type is used up, or reserved by others that run: in words. */
  budget?: { text: string; isShared: boolean };
  /** The machine's gate, if tasks of its type need a slot there and none is free. */
  gateFull?: { max: number; holders: number; waiting: number };
  /** So many are in review that workers claim nothing more. */
  reviewFull?: { count: number; limit: number };
  /** The last thing the ledger says about it, for a task that failed without an attempt. */
  lastNote?: string;
  now: number;
}

export function explain(facts: WhyFacts): Reason[] {
  switch (facts.state) {
    case "quarantined":
      return [
        {
          code: "quarantined",
          text: `it was moved aside: ${facts.quarantineReason ?? "unknown reason"}`,
          command: `mv quarantine/${facts.id}.json pending/    # after repairing the file`,
        },
      ];
    case "done":
      return [{ code: "done", text: `it was done ${ago(facts)} ago` }];
    case "review":
      return [
        {
          code: "in_review",
          text: `a person must approve it; it has waited for ${ago(facts)}`,
          command: `viv approve ${facts.id}    # or: viv reject ${facts.id} --note "…"`,
        },
      ];
    case "failed":
      return [...chokeReason(facts), ...failedReasons(facts)];
    case "claimed":
      return claimedReasons(facts);
    case "waiting":
    case "pending":
      if (facts.task === null) return [unreadable(facts)];
      return orFree(facts, [
        ...dependencyReasons(facts),
        ...timeReasons(facts),
        ...chokeReason(facts),
        ...(facts.state === "pending" ? queueReasons(facts) : []),
      ]);
  }
}

function unreadable(facts: WhyFacts): Reason {
  return {
    code: "unreadable",
    text: `its file cannot be read as a task: ${facts.quarantineReason ?? "unknown reason"}`,
    command: "viv doctor --fix",
  };
}

/** Nothing holds it back any more, but nobody has looked since. */
function orFree(facts: WhyFacts, reasons: Reason[]): Reason[] {
  if (reasons.length > 0 || facts.state !== "waiting") return reasons;
  const text = "nothing holds it back any more; the next worker that looks will move it on";
  return [{ code: "free", text, command: "viv reap" }];
}

function ago(facts: WhyFacts, since = facts.since): string {
  return formatDuration(facts.now - Date.parse(since));
}

function dependencyReasons(facts: WhyFacts): Reason[] {
  const reasons: Reason[] = [];
  if (facts.cycle) {
    reasons.push({
      code: "dependency_cycle",
      text: `it waits for itself: ${facts.cycle.join(" → ")}`,
      command: `viv cancel ${facts.cycle.at(-2)}`,
    });
  }
  for (const d of facts.dependencies) {
    if (d.met) continue;
    if (d.state === "failed") {
      reasons.push({
        code: "dependency_failed",
        text: `waits for ${d.id}, which failed`,
        command: `viv retry ${d.id}`,
      });
    } else if (d.state === "unknown" || d.state === "quarantined") {
      reasons.push({
        code: "dependency_unknown",
        text:
          d.state === "unknown"
            ? `waits for ${d.id}, which nobody has enqueued yet`
            : `waits for ${d.id}, which is in quarantine`,
        command: d.state === "unknown" ? `viv enqueue --id ${d.id} --type TYPE` : `viv why ${d.id}`,
      });
    } else {
      const by = d.worker ? ` by ${d.worker}` : "";
      const time = d.since ? ` for ${ago(facts, d.since)}` : "";
      reasons.push({
        code: "dependency_waiting",
        text: `waits for ${d.id}, which is ${d.state}${by}${time}`,
        command: `viv why ${d.id}`,
      });
    }
  }
  return reasons;
}

function timeReasons(facts: WhyFacts): Reason[] {
  const reasons: Reason[] = [];
  const notBefore = facts.task?.not_before;
  if (notBefore && Date.parse(notBefore) > facts.now) {
    const left = formatDuration(Date.parse(notBefore) - facts.now);
    reasons.push({ code: "not_before", text: `not before ${notBefore} (in ${left})` });
  }
  const rest = restReason(facts);
  const account = accountReason(facts);
  const others = [account, budgetReason(facts), gateReason(facts), reviewReason(facts)];
  const inOrder = rest?.code === "rate_limited" ? [rest, ...others] : [...others, rest];
  return [...reasons, ...inOrder.filter((reason) => reason !== null)];
}

function budgetReason({ budget }: WhyFacts): Reason | null {
  if (budget === undefined) return null;
  const wait = budget.isShared ? "wait until they end, or " : "";
  const text = `${budget.text}; ${wait}raise it in viv.toml and start the worker anew`;
  return { code: "budget_used_up", text, command: "viv costs" };
}

function gateReason({ gateFull }: WhyFacts): Reason | null {
  if (gateFull === undefined) return null;
  const { max, holders, waiting } = gateFull;
  const queue = waiting === 0 ? "" : `, and ${waiting} ${waiting === 1 ? "waits" : "wait"} there`;
  const text = `the machine's gate is full: ${holders} of ${max} slots are taken${queue}`;
  return { code: "gate_full", text, command: "viv gate" };
}

function reviewReason({ reviewFull }: WhyFacts): Reason | null {
  if (reviewFull === undefined) return null;
  const { count, limit } = reviewFull;
  const tasks = count === 1 ? "1 task waits" : `${count} tasks wait`;
  const text = `${tasks} for review, and with ${limit} nothing more is claimed`;
  return { code: "review_full", text, command: "viv ls --state review" };
}

function restReason({ history, now }: WhyFacts): Reason | null {
  const last = history.at(-1);
  if (!last || !isAttempt(last) || !last.retry_at || Date.parse(last.retry_at) <= now) return null;
  const when = `${last.retry_at} (in ${formatDuration(Date.parse(last.retry_at) - now)})`;
  if (last.outcome === "rate_limited") {
    return { code: "rate_limited", text: `rate limited until ${when}` };
  }
  const text = `attempt ${last.attempt} ended as ${last.outcome}; the next one starts at ${when}`;
  return { code: "resting", text };
}

/** What shares a limit with others is closed for all of them. */
function accountReason({ account, now }: WhyFacts): Reason | null {
  if (account === undefined || account.state === "open") return null;
  const text = `account ${account.account} ${describeAccount(account, now)}`;
  if (account.state === "closed") return { code: "account_closed", text };
  const todo = account.todo === "" ? "" : `; ${account.todo}`;
  const command = `viv accounts open ${account.account}`;
  return { code: "account_closed", text: `${text}${todo}; then:`, command };
}

/** Who choked on it, and who may still try it. A retry by a person makes all of it history. */
function chokeReason(facts: WhyFacts): Reason[] {
  const chokes = chokesIn(facts.history);
  const last = chokes.at(-1);
  if (last === undefined) return [];
  const before = [...new Set(chokes.slice(0, -1).map(({ worker }) => worker))];
  const too = before.length > 0 ? `, as before with ${before.join(", ")}` : "";
  return [
    {
      code: "choked",
      text: `${describeChoke(last)}${too}${whoIsLeft(facts)}`,
      command: `viv show ${facts.id}`,
    },
  ];
}

function whoIsLeft(facts: WhyFacts): string {
  if (facts.state === "failed") return "";
  const left = mayTry(facts.workers, facts.task?.task_type ?? "?", facts.history);
  return left.length > 0
    ? `; ${left.join(", ")} may still try it`
    : "; no other living worker is there to try it";
}

function queueReasons(facts: WhyFacts): Reason[] {
  const type = facts.task?.task_type ?? "?";
  if (facts.dependencies.some((d) => !d.met)) return [];
  const alive = facts.workers.filter((w) => w.alive);
  const takers = mayTry(facts.workers, type, facts.history);
  if (takers.length === 0 && alive.some((w) => takes(w.types, type))) {
    const text = `all live workers that take tasks of type ${type} have choked on it`;
    return [{ code: "no_worker", text, command: "viv work --handler COMMAND" }];
  }
  if (takers.length === 0) {
    const others =
      alive.length > 0 ? ` (live workers: ${alive.map((w) => w.name).join(", ")})` : "";
    return [
      {
        code: "no_worker",
        text: `no live worker takes tasks of type ${type}${others}`,
        // A foreign type may be any text; what is shown to be pasted must not be.
        command: `viv work --handler COMMAND${isTypeName(type) ? ` --types ${type}` : ""}`,
      },
    ];
  }
  return [
    {
      code: "queued",
      text: `it is in the queue; ${takers.join(", ")} will take it in turn`,
    },
  ];
}

function claimedReasons(facts: WhyFacts): Reason[] {
  const worker = facts.workers.find((w) => w.name === facts.worker);
  if (worker && !worker.alive) {
    return [
      {
        code: "worker_silent",
        text: `${worker.name} claimed it ${ago(facts)} ago and is gone or silent${whatRuns(facts)}`,
        command: "viv reap",
      },
    ];
  }
  const beat =
    worker?.age == null ? "" : `, last heartbeat ${formatDuration(worker.age * 1000)} ago`;
  return [
    {
      code: "running",
      text: `${facts.worker ?? "a worker"} has been working on it for ${ago(facts)}${beat}`,
      command: `viv logs ${facts.id} -f    # or: viv cancel ${facts.id}`,
    },
  ];
}

/** A task is not given out again while its old processes live: those that will not die hold it. */
function whatRuns({ process }: WhyFacts): string {
  if (process?.vitality !== "alive") return "";
  return `; its process ${process.pid} still runs, and must be gone before the task is given out again`;
}

function failedReasons(facts: WhyFacts): Reason[] {
  const last = facts.history.filter(isAttempt).at(-1);
  if (last?.to === "pending" && facts.lastNote && isNoWorkerLeft(facts.lastNote)) {
    return [{ code: "failed", text: facts.lastNote, command: `viv retry ${facts.id}` }];
  }
  const cancelled = last === undefined || last.outcome === "cancelled" || last.to !== "failed";
  const note = last?.to === "failed" ? last.note : facts.lastNote;
  const how = cancelled
    ? `it was cancelled${note ? `: ${note}` : ""}`
    : `attempt ${last.attempt} by ${last.worker} ended as ${last.outcome}${note ? `: ${note}` : ""}`;
  return [
    { code: cancelled ? "cancelled" : "failed", text: how, command: `viv retry ${facts.id}` },
  ];
}
