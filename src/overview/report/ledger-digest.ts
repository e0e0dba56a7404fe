import { OUTCOMES, type Outcome } from "../../queue/attempt.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import { TASK_STATES, type TaskState } from "../../queue/states.ts";
import { BusyTimes } from "./busy-times.ts";

/** The last line that moved a task, and what it says. Equal ones of several tasks are one object. */
export interface LastMove {
  readonly event: string;
  readonly to: TaskState;
  readonly attempt?: number;
  readonly outcome?: string;
  readonly note?: string;
  readonly by?: string;
  /** Its proof passed, in the attempt that ended there. */
  readonly proven: boolean;
}

/** A merge of its branch that is in the target. */
export interface Landed {
  /** "" before the period. */
  at: string;
  target: string;
  repository: string | null;
  commit: string | null;
}

/** What is kept of each task: a server makes reports of a hundred thousand beside its other work. */
export class TaskFacts {
  type: string | undefined = undefined;
  last: LastMove | null = null;
  /** When that was; "" before the period. */
  lastAt = "";
  /** Of the attempt that `last` ended. */
  token: string | undefined = undefined;
  /** Of its last failure, for a later line without one. */
  fingerprint: string | undefined = undefined;
  landed: Landed | null = null;
  /** In the period: attempts, the time that those took that ended, and the workers. */
  attempts = 0;
  workMs = 0;
  workers: readonly string[] = NONE;
}

const NONE: readonly string[] = [];
const LANDED_BEFORE: Landed = { at: "", target: "?", repository: null, commit: null };

export interface Execution {
  task: string;
  worker: string;
  at: string;
  receipt: string | null;
}

/** Most of a ledger's lines; `LedgerTotals` adds them up. */
const MONEY: readonly string[] = ["step", "usage", "reserved"];

interface OpenClaim {
  token: string | undefined;
  worker: string;
  at: number;
}

/**
 * What the ledger says about each task, and about a period of the run. Lines come once, in the order of the
 * ledger; of a task a few values are kept, however many lines it has. A line whose time or task is no text
 * is damaged and counts for nothing.
 */
export class LedgerDigest {
  readonly tasks = new Map<string, TaskFacts>();
  readonly outcomes = new Map<Outcome, number>();
  readonly executions: Execution[] = [];
  readonly busy: BusyTimes;
  /** Lines that say nothing. */
  damaged = 0;
  readonly #since: string;
  readonly #now: number;
  readonly #open = new Map<string, OpenClaim>();
  /** One object for equal texts, and for equal moves. */
  readonly #texts = new Map<string, string>();
  readonly #moves = new Map<string, LastMove>();
  readonly #alone = new Map<string, readonly string[]>();
  readonly #tasksOf = new Map<string, number>();

  constructor(since: string, now: number) {
    this.#since = since;
    this.#now = now;
    this.busy = new BusyTimes(Date.parse(since), now);
  }

  add(line: LedgerLine): void {
    const { at, task } = line as { at: unknown; task?: unknown };
    const isText = typeof at === "string" && (task === undefined || typeof task === "string");
    if (!isText) this.damaged++;
    else if (MONEY.includes(line.event)) return;
    else if (Number.isNaN(Date.parse(at))) this.damaged++;
    else if (typeof task === "string") this.#about(task, line);
  }

  /** How many tasks a worker had in the period. */
  tasksOf(worker: string): number {
    return this.#tasksOf.get(worker) ?? 0;
  }

  /** After the last line. `isHeld`: whether this worker still holds that task. */
  close(isHeld: (task: string, worker: string) => boolean): void {
    for (const [task, { worker, at }] of this.#open) {
      const isRunning = isHeld(task, worker);
      if (isRunning) this.#factsOf(task).workMs += Math.max(0, this.#now - at);
      // A claim that was moved by hand has no end: nothing is known about its work.
      this.busy.end(worker, isRunning ? this.#now : at);
    }
    this.#open.clear();
  }

  #about(task: string, line: LedgerLine): void {
    // In any order of the ledger's files, the event decides: see the events of §2.
    const event: string = line.event;
    const facts = this.#factsOf(task);
    facts.type ??= this.#text(line.type);
    if (event === "claimed") this.#claim(task, facts, line);
    else if (event === "ended") this.#end(task, facts, line);
    else if (event === "void") undo(facts, line);
    else if (event === "landed")
      facts.landed = this.#isInPeriod(line) ? landedFrom(line) : LANDED_BEFORE;
    else if (event === "executed" && this.#isInPeriod(line)) this.#execute(task, line);
    if (event !== "void") this.#move(facts, event, line);
  }

  #factsOf(task: string): TaskFacts {
    const known = this.tasks.get(task);
    if (known) return known;
    const facts = new TaskFacts();
    this.tasks.set(task, facts);
    return facts;
  }

  #isInPeriod({ at }: LedgerLine): boolean {
    return !(at < this.#since);
  }

  #claim(task: string, facts: TaskFacts, line: LedgerLine): void {
    const at = Date.parse(line.at);
    const before = this.#open.get(task);
    // The claim before it ended without a line.
    if (before) this.busy.end(before.worker, at);
    const worker = this.#text(line.worker) ?? "?";
    this.#open.set(task, { token: line.token, worker, at });
    this.busy.begin(worker, at);
    facts.last = null;
    if (this.#isInPeriod(line)) this.#attempt(facts, worker);
  }

  #end(task: string, facts: TaskFacts, line: LedgerLine): void {
    const claim = this.#open.get(task);
    const isIts = claim !== undefined && claim.token === line.token;
    if (isIts) {
      this.#open.delete(task);
      this.busy.end(claim.worker, Date.parse(line.at));
    }
    if (!this.#isInPeriod(line)) return;
    if (isIts) facts.workMs += Math.max(0, Date.parse(line.at) - claim.at);
    const isCounted = isIts && !(claim.at < Date.parse(this.#since));
    if (!isCounted) this.#attempt(facts, this.#text(line.worker) ?? "?");
    const outcome = OUTCOMES.find((one) => one === line.outcome);
    // A worker gave it back untouched: the next claim is no retry.
    if (outcome === "released") facts.attempts--;
    if (outcome) this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    if (line.receipt) this.#execute(task, line);
  }

  #attempt(facts: TaskFacts, worker: string): void {
    facts.attempts++;
    if (facts.workers.includes(worker)) return;
    facts.workers = this.#with(facts.workers, worker);
    this.#tasksOf.set(worker, this.tasksOf(worker) + 1);
  }

  #execute(task: string, line: LedgerLine): void {
    const { at, worker, receipt } = line;
    this.executions.push({ task, at, worker: textIn(worker) ?? "?", receipt: textIn(receipt) });
  }

  #move(facts: TaskFacts, event: string, line: LedgerLine): void {
    const { to, attempt } = line;
    if (event === "enqueued" || event === "adopted" || !TASK_STATES.includes(to as TaskState))
      return;
    const of = typeof attempt === "number" ? attempt : facts.last?.attempt;
    facts.fingerprint = this.#text(line.fingerprint) ?? facts.fingerprint;
    facts.token = textIn(line.token) ?? undefined;
    facts.lastAt = this.#isInPeriod(line) ? line.at : "";
    facts.last = this.#oneOf({
      ...{ event, to: to as TaskState, attempt: of },
      outcome: this.#text(line.outcome),
      note: this.#text(line.note),
      by: this.#text(line.by),
      proven:
        event === "approved"
          ? facts.last?.proven === true && !line.unproven
          : line.proof === "passed",
    });
  }

  /** Most tasks have one worker: each a list that they share. */
  #with(workers: readonly string[], worker: string): readonly string[] {
    if (workers.length > 0) return [...workers, worker];
    const known = this.#alone.get(worker) ?? [worker];
    this.#alone.set(worker, known);
    return known;
  }

  #oneOf(move: LastMove): LastMove {
    const key = JSON.stringify(Object.values(move));
    const known = this.#moves.get(key);
    if (known !== undefined) return known;
    keep(this.#moves, key, move);
    return move;
  }

  #text(value: unknown): string | undefined {
    if (typeof value !== "string" || value === "") return undefined;
    const known = this.#texts.get(value);
    if (known !== undefined) return known;
    keep(this.#texts, value, value);
    return value;
  }
}

const MOST_KEPT = 2000;

function keep<T>(all: Map<string, T>, key: string, value: T): void {
  if (all.size >= MOST_KEPT) all.clear();
  all.set(key, value);
}

/** Its end had no effect: the claim was lost before. */
function undo(facts: TaskFacts, { token, outcome }: LedgerLine): void {
  if (facts.token === token && facts.last?.outcome === outcome) facts.last = null;
}

function landedFrom(line: LedgerLine): Landed {
  const { at, target, repository, commit } = line;
  const into = textIn(target) ?? "?";
  return { at, target: into, repository: textIn(repository), commit: textIn(commit) };
}

function textIn(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
