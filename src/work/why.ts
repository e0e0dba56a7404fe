import { formatDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import { idWord, isTypeName } from "../base/names.ts";
import { counted } from "../base/text.ts";
import { type AccountState, describeAccount } from "../engines/accounts/account.ts";
import { isAttempt } from "../queue/attempt.ts";
import { chokesIn, describeChoke, isNoWorkerLeft, mayTry, takes } from "../queue/choke.ts";
import { pauseLine, workerPauseLine } from "../queue/pause-line.ts";
import { wordOf } from "../queue/states.ts";
import type { DependencyFact, Pause, Store, TaskView, WorkerView } from "../queue/store.ts";
import { noSuchTask } from "../queue/task.ts";
import type { HeldType } from "./held-back.ts";
import { holdIn } from "./remark.ts";

/** Why a task is not moving: every reason, in the order in which they would have to go away. */
export interface Reason {
  code: ReasonCode;
  text: string;
  /** The command that would change it, when there is one. */
  command?: string;
  /** The last lines of the log that says more. */
  log?: string[];
}

export const REASON_CODES = [
  "quarantined",
  "unreadable",
  "dependency_failed",
  "dependency_unknown",
  "dependency_waiting",
  "dependency_cycle",
  "not_before",
  "paused",
  "rate_limited",
  "account_closed",
  "no_space",
  "setup_failed",
  "budget_used_up",
  "gate_full",
  "review_full",
  "resting",
  "choked",
  "free",
  "route_held",
  "no_route",
  "worker_down",
  "no_worker",
  "queued",
  "worker_silent",
  "running",
  "in_review",
  "failed",
  "cancelled",
  "done",
  "landed",
  "not_landed",
  "no_changes",
  "reworked",
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

export interface Why extends Pick<TaskView, "id" | "type" | "since"> {
  state: TaskView["state"] | "cancelled";
  reasons: Reason[];
}

/** Limits on tasks of a type, from viv.toml and the machine. */
export interface Held {
  accountOf?: (type: string) => AccountState | null;
  /** In words, when the budget of this type is used up, or reserved by running attempts. */
  budgetOf?: (type: string) => { text: string; isShared: boolean } | null;
  /** The machine's gate, when this type needs a slot and none is free. */
  gateOf?: (type: string) => { max: number; holders: number; waiting: number } | null;
  /** No room for another workspace, or a set-up that keeps failing. */
  workspaceOf?: (type: string) => HeldType | null;
  reviewLimit?: number;
  routeOf?: (type: string) => RouteFact;
  /** Of the `viv up` that runs. */
  downWorkers?: () => Promise<DownWorker[]>;
  /** Where the work of a task is; null for one without a branch. */
  landingOf?: (view: TaskView) => Promise<Reason | null>;
  /** Why its work is not proven. */
  unprovenOf?: (view: TaskView) => Promise<string | null>;
}

/** A worker of a running `viv up` that has no process now. */
export interface DownWorker {
  name: string;
  /** `parked`: it is not started again; the others are. */
  state: "parked" | "resting" | "starting";
  /** Why it ended. */
  note: string;
  /** Null: any. */
  types: readonly string[] | null;
  /** Starts a parked one again. */
  command: string;
}

/** Where `viv work` would find its handler. */
export type RouteFact =
  /** In viv.toml, as this `[handlers.NAME]`; `asked`: only with the type in `--types`. */
  | { kind: "routed"; name: string; asked: boolean }
  /** This viv.toml has routes, and none for the type. */
  | { kind: "missing"; file: string }
  /** No routes at all: workers are started with `--handler`. */
  | { kind: "none" };

export async function whyTask(
  store: Store,
  id: string,
  now: number,
  held: Held = {},
): Promise<Why> {
  const view = await store.show(id);
  if (view === null) throw await notFound(store, id);
  const { state, since, task } = view;
  const type = task?.task_type ?? "";
  const reasons = explain({
    ...view,
    dependencies: task ? await store.dependencies(task) : [],
    cycle: task ? await findCycle(store, view) : null,
    workers: await store.workers(),
    account: held.accountOf?.(type),
    budget: held.budgetOf?.(type),
    gate: held.gateOf?.(type),
    workspace: state === "pending" || state === "waiting" ? held.workspaceOf?.(type) : null,
    setupLog: await setupLog(store, view, held.workspaceOf?.(type)?.task),
    route: held.routeOf?.(type),
    inReview: (await store.counts()).review,
    reviewLimit: held.reviewLimit,
    lastNote: await lastNote(store, view),
    landing: await held.landingOf?.(view),
    paused: await store.paused(),
    unproven: await held.unprovenOf?.(view),
    downWorkers: state === "pending" ? await held.downWorkers?.() : [],
    now,
  });
  return { id: view.id, type: view.type, state: wordOf(view), since, reasons };
}

const LOG_LINES = 3;

/** Of the task's own set-up if that failed at last, else of the one that holds its route back. */
async function setupLog(store: Store, view: TaskView, other?: string): Promise<string[]> {
  const isOwn = view.history.findLast(isAttempt)?.outcome === "setup_failed";
  const id = isOwn ? view.id : other;
  if (id === undefined || (view.state !== "pending" && view.state !== "waiting")) return [];
  const text = (await store.artifacts.read(`${id}.setup.log`)) ?? "";
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-LOG_LINES);
}

/** A task that the ledger knows was moved out of the run, by a person or by its own handler. */
async function notFound(store: Store, id: string): Promise<VivError> {
  for await (const _ of store.ledger({ task: id })) {
    const message = `${id} was enqueued, but its file is in no state any more; it was moved away: viv doctor`;
    return new VivError("TASK_NOT_FOUND", message, { id });
  }
  return noSuchTask(id);
}

async function lastNote(store: Store, view: TaskView): Promise<string | undefined> {
  if (view.state !== "failed") return undefined;
  let note: string | undefined;
  for await (const line of store.ledger({ task: view.id })) if (line.note) note = line.note;
  return note;
}

/** Follows unmet dependencies; only waiting tasks can be part of a cycle. */
export async function findCycle(store: Store, view: TaskView): Promise<string[] | null> {
  if (view.state !== "waiting" && view.state !== "pending") return null;
  const seen = new Set<string>();
  const stack = (view.task?.depends_on ?? []).map((id) => ({ id, path: [view.id, id] }));
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (top.id === view.id) return top.path;
    if (seen.has(top.id)) continue;
    seen.add(top.id);
    const next = await store.show(top.id);
    if (next?.state !== "waiting" && next?.state !== "pending") continue;
    for (const id of next.task?.depends_on ?? []) stack.push({ id, path: [...top.path, id] });
  }
  return null;
}

export interface WhyFacts extends Omit<TaskView, "process" | "type"> {
  process?: Pick<NonNullable<TaskView["process"]>, "pid" | "vitality">;
  dependencies: readonly DependencyFact[];
  /** A dependency cycle through this task, as `[id, …, id]`. */
  cycle: readonly string[] | null;
  workers: readonly Pick<
    WorkerView,
    "name" | "alive" | "types" | "heartbeatAge" | "process" | "claims" | "note" | "paused"
  >[];
  account?: AccountState | null;
  budget?: ReturnType<NonNullable<Held["budgetOf"]>>;
  gate?: ReturnType<NonNullable<Held["gateOf"]>>;
  workspace?: HeldType | null;
  setupLog?: string[];
  route?: RouteFact;
  inReview?: number;
  reviewLimit?: number;
  /** The last note in the ledger, for a task that failed without an attempt. */
  lastNote?: string;
  landing?: Reason | null;
  unproven?: string | null;
  paused?: Pause | null;
  downWorkers?: readonly DownWorker[];
  now: number;
}

export function explain(facts: WhyFacts): Reason[] {
  const { landing } = facts;
  const before = landing?.code === "reworked" ? [landing] : [];
  return [...before, ...explainState(facts)];
}

function explainState(facts: WhyFacts): Reason[] {
  const { id, state } = facts;
  const why = facts.reason ?? "unknown reason";
  const unproven = facts.unproven ? `; it is unproven: ${facts.unproven}` : "";
  switch (state) {
    case "quarantined": {
      const text = `it was moved aside: ${why}; repair the file, then move it back`;
      return [reason("quarantined", text, `mv quarantine/${id}.json pending/`)];
    }
    case "done":
      return [
        reason("done", `it was done ${ago(facts)} ago${howDone(facts)}${unproven}`),
        ...(facts.landing ? [facts.landing] : []),
      ];
    case "review": {
      const text = `a person must approve it; it has waited for ${ago(facts)}${unproven}`;
      const flag = facts.unproven ? " --unproven" : "";
      const command = `viv approve ${idWord(id)}${flag}    # or: viv reject ${idWord(id)} --note "…"`;
      return [reason("in_review", text, command)];
    }
    case "failed":
      return [...chokeReasons(facts), failedReason(facts)];
    case "claimed":
      return [claimedReason(facts)];
    case "waiting":
    case "pending": {
      if (facts.task === null) {
        const text = `its file cannot be read as a task: ${why}`;
        return [reason("unreadable", text, "viv doctor --fix")];
      }
      const reasons = [
        ...dependencyReasons(facts),
        ...timeReasons(facts),
        ...chokeReasons(facts),
        ...(state === "pending" ? queueReasons(facts) : []),
      ];
      if (reasons.length > 0 || state === "pending") return reasons;
      const text = "nothing holds it back any more; the next worker that looks will move it on";
      return [reason("free", text, "viv reap")];
    }
  }
}

/** What is known about food that was eaten by hand. */
function howDone({ reason: why, task }: WhyFacts): string {
  const note = why ?? task?.payload?.unproven;
  return typeof note === "string" ? `: ${note}` : "";
}

function reason(code: ReasonCode, text: string, command?: string): Reason {
  return { code, text, command };
}

function ago(facts: WhyFacts, since = facts.since): string {
  return formatDuration(facts.now - Date.parse(since));
}

function dependencyReasons(facts: WhyFacts): Reason[] {
  const { cycle } = facts;
  const unmet = facts.dependencies.filter(({ met }) => !met);
  const reasons = unmet.map(({ id, state, cancelled, worker, since }) => {
    const waits = `waits for ${id}, which`;
    if (state === "failed") {
      const how = cancelled ? "was cancelled" : "failed";
      return reason("dependency_failed", `${waits} ${how}`, `viv retry ${idWord(id)}`);
    }
    if (state === "unknown") {
      const command = `viv enqueue --id ${id} --type TYPE`;
      return reason("dependency_unknown", `${waits} is not enqueued yet`, command);
    }
    const command = `viv why ${idWord(id)}`;
    if (state === "quarantined") {
      return reason("dependency_unknown", `${waits} is in quarantine`, command);
    }
    const by = worker ? ` by ${worker}` : "";
    const time = since ? ` for ${ago(facts, since)}` : "";
    return reason("dependency_waiting", `${waits} is ${state}${by}${time}`, command);
  });
  if (cycle === null) return reasons;
  const text = `it waits for itself: ${cycle.join(" → ")}`;
  return [reason("dependency_cycle", text, `viv cancel ${idWord(cycle.at(-2) ?? "")}`), ...reasons];
}

function timeReasons(facts: WhyFacts): Reason[] {
  const { task, now } = facts;
  const reasons: Reason[] = [];
  const notBefore = task?.not_before;
  if (notBefore && Date.parse(notBefore) > now) {
    const left = formatDuration(Date.parse(notBefore) - now);
    reasons.push(reason("not_before", `not before ${notBefore} (in ${left})`));
  }
  if (facts.paused) {
    const text = `the run is ${pauseLine(facts.paused, now)}`;
    reasons.push(reason("paused", text.replace(/; go on with: [^)]*\)$/, ")"), "viv resume"));
  }
  const rest = restReason(facts);
  const others = [
    accountReason(facts),
    workspaceReason(facts),
    budgetReason(facts),
    gateReason(facts),
    reviewReason(facts),
  ];
  const isFirst = rest?.code === "rate_limited" || rest?.code === "setup_failed";
  const inOrder = isFirst ? [rest, ...others] : [...others, rest];
  return [...reasons, ...inOrder.filter((one) => one !== null)];
}

function budgetReason({ budget }: WhyFacts): Reason | null {
  if (!budget) return null;
  const wait = budget.isShared ? "wait until those attempts end, or " : "";
  const text = `${budget.text}; ${wait}raise it in viv.toml and start the worker anew`;
  return reason("budget_used_up", text, "viv costs");
}

function gateReason({ gate }: WhyFacts): Reason | null {
  if (!gate) return null;
  const { max, holders, waiting } = gate;
  const queue = waiting === 0 ? "" : `, and ${waiting} ${waiting === 1 ? "waits" : "wait"} there`;
  const text = `the machine's gate is full: ${holders} of ${counted(max, "slot")} ${max === 1 ? "is" : "are"} taken${queue}`;
  return reason("gate_full", text, "viv gate");
}

function reviewReason({ inReview = 0, reviewLimit = Number.POSITIVE_INFINITY }: WhyFacts) {
  if (inReview < reviewLimit) return null;
  const tasks = `${counted(inReview, "task")} ${inReview === 1 ? "waits" : "wait"}`;
  const text = `${tasks} for review, and with ${reviewLimit} nothing more is claimed`;
  return reason("review_full", text, "viv ls --state review");
}

function workspaceReason({ workspace, setupLog = [] }: WhyFacts): Reason | null {
  if (!workspace) return null;
  const { why, detail, command } = workspace;
  const log = why === "setup_failed" && setupLog.length > 0 ? { log: setupLog } : {};
  return { ...reason(why, detail, command), ...log };
}

function restReason({ id, history, now, workspace, setupLog = [] }: WhyFacts): Reason | null {
  const last = history.at(-1);
  if (!last || !isAttempt(last) || !last.retry_at || Date.parse(last.retry_at) <= now) return null;
  const when = `${last.retry_at} (in ${formatDuration(Date.parse(last.retry_at) - now)})`;
  if (last.outcome === "rate_limited") return reason("rate_limited", `rate limited until ${when}`);
  if (last.outcome === "setup_failed") {
    const note = last.note?.replace(/; see: viv logs .*$/, "") ?? "";
    const text = `the set-up of its workspace failed, which does not count as an attempt; tried again at ${when}: ${note}`;
    const log = setupLog.length > 0 && !workspace ? { log: setupLog } : {};
    return { ...reason("setup_failed", text, `viv logs ${idWord(id)} --setup`), ...log };
  }
  const end = `attempt ${last.attempt} ended as ${last.outcome}`;
  return reason("resting", `${end}; the next one starts at ${when}`);
}

function accountReason({ account, now }: WhyFacts): Reason | null {
  if (!account || account.state === "open") return null;
  const text = `account ${account.account} ${describeAccount(account, now)}`;
  if (account.state === "closed") return reason("account_closed", text);
  const todo = account.todo === "" ? "" : `; ${account.todo}`;
  const command = `viv accounts open ${account.account}`;
  return reason("account_closed", `${text}${todo}; then:`, command);
}

/** The workers that choked on it since the last retry, and those that may still try it. */
function chokeReasons(facts: WhyFacts): Reason[] {
  const chokes = chokesIn(facts.history);
  const last = chokes.at(-1);
  if (last === undefined) return [];
  const before = [...new Set(chokes.slice(0, -1).map(({ worker }) => worker))];
  const too = before.length > 0 ? `, as before with ${before.join(", ")}` : "";
  const left = mayTry(facts.workers, facts.task?.task_type ?? "?", facts.history);
  let next = `; ${left.join(", ")} may still try it`;
  if (left.length === 0) next = "; no other living worker is there to try it";
  if (facts.state === "failed") next = "";
  return [reason("choked", `${describeChoke(last)}${too}${next}`, `viv show ${idWord(facts.id)}`)];
}

function queueReasons(facts: WhyFacts): Reason[] {
  const type = facts.task?.task_type ?? "?";
  if (facts.dependencies.some(({ met }) => !met)) return [];
  const alive = facts.workers.filter((worker) => worker.alive);
  const takers = new Set(mayTry(facts.workers, type, facts.history));
  const seen = facts.workers.filter((worker) => takers.has(worker.name));
  const present = seen.filter((worker) => !isOnlyHeartbeat(worker));
  const working = present.filter(({ paused }) => !paused);
  const found = facts.route ?? { kind: "none" };
  if (working.length > 0) {
    const holds = working.map(({ note }) =>
      found.kind === "routed"
        ? holdIn(note, found.name)
        : (holdIn(note, type) ?? holdIn(note, "default")),
    );
    const names = working.filter((_, i) => holds[i] === null).map(({ name }) => name);
    if (names.length === 0) return [reason("route_held", holds[0] ?? "", "viv config check")];
    return [reason("queued", `it is in the queue; ${names.join(", ")} will take it in turn`)];
  }
  const down = (facts.downWorkers ?? []).filter((one) => takes(one.types, type)).map(downReason);
  if (present.length > 0) {
    return [...present.map((worker) => pausedReason(worker, facts.now)), ...down];
  }
  const reasons: Reason[] = [];
  if (found.kind === "missing") {
    const tables = isTypeName(type)
      ? `[handlers.${/[^\w-]/.test(type) ? JSON.stringify(type) : type}] or [handlers.default]`
      : "[handlers.default]";
    const text = `there is no route for tasks of type ${type}: add ${tables} to ${found.file}`;
    reasons.push(reason("no_route", text));
  }
  if (down.length > 0) return [...reasons, ...down];
  return [
    ...reasons,
    reason("no_worker", noWorkerText(type, alive, seen), workCommand(type, found)),
  ];
}

/** Of each worker that would take it. */
function pausedReason({ name, paused }: KnownWorker, now: number): Reason {
  const text = paused ? workerPauseLine(name, paused, now) : name;
  return reason(
    "paused",
    text.replace(/; go on with: [^)]*\)$/, ")"),
    `viv resume --worker ${name}`,
  );
}

/** Of one that `viv up` keeps. */
function downReason({ name, state, note, command }: DownWorker): Reason {
  const why = note === "" ? "" : `: ${note}`;
  if (state === "parked") {
    const text = `${name} of viv up is parked${why}; it stays so until viv up is started anew:`;
    return reason("worker_down", text, command);
  }
  const how = state === "starting" ? "is starting" : "has ended, and starts again by itself";
  return reason("worker_down", `${name} of viv up ${how}${why}`, "viv ps");
}

type KnownWorker = WhyFacts["workers"][number];

/** A heartbeat alone may be that of a loop of `viv claim`, or the only command ever run by that name. */
function isOnlyHeartbeat({ process, claims }: KnownWorker): boolean {
  return process === "none" && claims.length === 0;
}

function noWorkerText(
  type: string,
  alive: readonly KnownWorker[],
  heartbeats: readonly KnownWorker[],
): string {
  if (heartbeats.length > 0) {
    const names = heartbeats.map(({ name, heartbeatAge: age }) =>
      age === null ? name : `${name} (${formatDuration(age * 1000)} ago)`,
    );
    return `no worker process is known that takes tasks of type ${type}; last seen: ${names.join(", ")}`;
  }
  if (alive.some(({ types }) => takes(types, type))) {
    return `all live workers that take tasks of type ${type} have choked on it`;
  }
  const names = alive.map(({ name }) => name).join(", ");
  return `no live worker takes tasks of type ${type}${names && ` (live workers: ${names})`}`;
}

function workCommand(type: string, route: RouteFact): string {
  const isRouted = route.kind === "routed";
  const command = isRouted ? "viv work" : "viv work --handler COMMAND";
  if (isRouted && !route.asked) return command;
  // A foreign type may be any text, which must not be pasted into a shell.
  return isTypeName(type) ? `${command} --types ${type}` : command;
}

function claimedReason(facts: WhyFacts): Reason {
  const { id, process, worker: name = "a worker" } = facts;
  const worker = facts.workers.find((one) => one.name === facts.worker);
  if (worker && !worker.alive) {
    const runs =
      process?.vitality === "alive"
        ? `; its process ${process.pid} still runs, and must be gone before the task is given out again`
        : "";
    const text = `${name} claimed it ${ago(facts)} ago and is gone or silent${runs}`;
    return reason("worker_silent", text, "viv reap");
  }
  const age = worker?.heartbeatAge ?? null;
  const beat = age === null ? "" : `, last heartbeat ${formatDuration(age * 1000)} ago`;
  const text = `${name} has been working on it for ${ago(facts)}${beat}`;
  return reason("running", text, `viv logs ${idWord(id)} -f    # or: viv cancel ${idWord(id)}`);
}

function failedReason({ id, history, lastNote }: WhyFacts): Reason {
  const command = `viv retry ${idWord(id)}`;
  const last = history.findLast(isAttempt);
  if (last?.to === "pending" && lastNote && isNoWorkerLeft(lastNote)) {
    return reason("failed", lastNote, command);
  }
  const note = last?.to === "failed" ? last.note : lastNote;
  const because = note ? `: ${note}` : "";
  if (last === undefined || last.outcome === "cancelled" || last.to !== "failed") {
    return reason("cancelled", `it was cancelled${because}`, command);
  }
  const end = `attempt ${last.attempt} by ${last.worker} ended as ${last.outcome}`;
  return reason("failed", `${end}${because}`, command);
}
