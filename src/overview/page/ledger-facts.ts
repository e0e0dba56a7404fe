import { setBounded } from "../../base/bounded-map.ts";
import { usedOn } from "../../engines/costs/usage.ts";
import type { LandingState } from "../../merge/landing.ts";
import { isNoWorkerLeft, NOTED_CHOKE } from "../../queue/choke.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import { Closings } from "./closings.ts";
import type { Entry } from "./entry.ts";
import { Span, Spans } from "./spans.ts";

/** What the ledger tells of a worker. */
export interface WorkerFacts {
  /** How its last attempts ended, oldest first. */
  recent: string[];
  done: number;
  /** Dollars on `day` (UTC). */
  day: string;
  usd: number;
}

/** What a running attempt does. */
export interface Doing {
  step: string | null;
  thought: string | null;
}

const RECENT = 12;
const LONGEST = 200;
/** Attempts that a late line may still be about. */
const KEPT_ATTEMPTS = 2000;

const LANDINGS: Record<string, LandingState | undefined> = {
  landed: "landed",
  conflict: "conflict",
  merge_red: "red",
  needs_you: "needs_you",
  held: "held",
  pr_opened: "pull_request",
  pr_closed: "closed",
  reworked: "reworked",
};

/** Applies lines of the ledger to the tasks they are about. Each line comes once, in the ledger's order. */
export class LedgerFacts {
  readonly workers = new Map<string, WorkerFacts>();
  readonly doing = new Map<string, Doing>();
  readonly spans = new Spans();
  readonly closings = new Closings();
  /** Dollars of attempts: by their steps, and in all. */
  readonly #attempts = new Map<string, { steps: number; total: number }>();
  readonly #entryOf: (id: string) => Entry;
  readonly #link: (child: Entry, parent: string) => void;

  constructor(entryOf: (id: string) => Entry, link: (child: Entry, parent: string) => void) {
    this.#entryOf = entryOf;
    this.#link = link;
  }

  /** The task that it is about; null: it says nothing about one. */
  add(line: LedgerLine): Entry | null {
    const { task, at } = line as { task?: unknown; at?: unknown };
    if (typeof task !== "string" || typeof at !== "string") return null;
    const time = Date.parse(at);
    if (Number.isNaN(time)) return null;
    const entry = this.#entryOf(task);
    this.#apply(entry, line, time);
    return entry;
  }

  #apply(entry: Entry, line: LedgerLine, at: number): void {
    switch (line.event) {
      case "enqueued":
      case "adopted":
        if (typeof line.parent === "string") this.#link(entry, line.parent);
        return;
      case "step":
      case "usage":
        this.#spend(entry, line);
        return;
      case "claimed":
        this.#claim(entry, line, at);
        return;
      case "ended":
        this.#end(entry, line, at);
        return;
      case "void":
        if (line.outcome === "done") entry.proof = null;
        return;
      case "rejected":
      case "retried":
      case "reworked":
        entry.isChoked = false;
        entry.proof = null;
        entry.restsUntil = 0;
        entry.failure = line.event === "retried" ? null : short(line.note);
        if (line.event === "reworked") entry.landing = "reworked";
        return;
      case "account_closed":
      case "account_opened":
        this.closings.add(line, at);
        return;
      case "cancelled":
        entry.failure = short(line.note) ?? `stopped by ${short(line.by) ?? "a person"}`;
        entry.isChoked = line.because === "choked";
        this.doing.delete(entry.id);
        return;
      default:
        entry.landing = LANDINGS[line.event] ?? entry.landing;
    }
  }

  #claim(entry: Entry, line: LedgerLine, at: number): void {
    const worker = short(line.worker) ?? "?";
    entry.attempt = typeof line.attempt === "number" ? line.attempt : entry.attempt + 1;
    entry.proof = null;
    this.doing.delete(entry.id);
    // Not kept among the texts that come again.
    const token = typeof line.token === "string" ? line.token : null;
    this.spans.begin(new Span(entry, worker, entry.attempt, at, token));
  }

  #end(entry: Entry, line: LedgerLine, at: number): void {
    const outcome = short(line.outcome) ?? "failed";
    const worker = short(line.worker);
    const isDone = outcome === "done" || outcome === "handed_in";
    const isProven = line.proof === "passed";
    if (typeof line.attempt === "number") entry.attempt = Math.max(entry.attempt, line.attempt);
    entry.lastWorker = worker ?? entry.lastWorker;
    entry.proof = isProven ? "passed" : outcome === "unproven" ? "failed" : null;
    entry.restsUntil = timeIn(line.retry_at);
    const note = short(line.note);
    if (isDone) entry.failure = null;
    else if (outcome !== "released") entry.failure = note ?? outcome;
    entry.isChoked = !isDone && isChoke(line);
    this.doing.delete(entry.id);
    this.spans.end(
      entry.id,
      typeof line.token === "string" ? line.token : null,
      at,
      outcome,
      isProven,
    );
    if (worker !== null) this.#count(worker, outcome);
  }

  #count(worker: string, outcome: string): void {
    const facts = this.#workerOf(worker);
    if (outcome === "done") facts.done++;
    facts.recent.push(outcome);
    if (facts.recent.length > RECENT) facts.recent.shift();
  }

  #workerOf(worker: string): WorkerFacts {
    const known = this.workers.get(worker);
    if (known) return known;
    const facts = { recent: [], done: 0, day: "", usd: 0 };
    this.workers.set(worker, facts);
    return facts;
  }

  /** As in `viv costs`: an attempt counts with its steps or its total, whichever is more. */
  #spend(entry: Entry, line: LedgerLine): void {
    if (line.event === "step") this.#note(entry, line);
    const usd = usedOn(line).reduce((sum, used) => sum + (used.usd ?? 0), 0);
    if (usd === 0) return;
    const key = `${entry.id} ${line.token}`;
    const known = this.#attempts.get(key) ?? { steps: 0, total: 0 };
    const before = Math.max(known.steps, known.total);
    if (line.event === "step") known.steps += usd;
    else known.total = Math.max(known.total, usd);
    const more = Math.max(known.steps, known.total) - before;
    setBounded(this.#attempts, key, known, KEPT_ATTEMPTS);
    entry.usd += more;
    const worker = short(line.worker);
    if (worker !== null) this.#spendToday(this.#workerOf(worker), line.at.slice(0, 10), more);
  }

  #spendToday(facts: WorkerFacts, day: string, usd: number): void {
    if (day < facts.day) return;
    if (day > facts.day) facts.usd = 0;
    facts.day = day;
    facts.usd += usd;
  }

  #note(entry: Entry, line: LedgerLine): void {
    const doing = this.doing.get(entry.id) ?? { step: null, thought: null };
    const step = [short(line.tool), short(line.target)].filter(Boolean).join(" ");
    if (step !== "") doing.step = step;
    else doing.thought = short(line.text) ?? doing.thought;
    this.doing.set(entry.id, doing);
  }
}

function isChoke({ note, fingerprint }: { note?: unknown; fingerprint?: unknown }): boolean {
  if (typeof note === "string" && (isNoWorkerLeft(note) || /^choked\b/.test(note))) return true;
  return typeof fingerprint === "string" && fingerprint.startsWith(NOTED_CHOKE);
}

function timeIn(value: unknown): number {
  const time = typeof value === "string" ? Date.parse(value) : 0;
  return Number.isNaN(time) ? 0 : time;
}

/** One line, not long, one object for equal texts; null for anything else. */
function short(value: unknown): string | null {
  if (typeof value !== "string" || value === "") return null;
  const known = texts.get(value);
  if (known !== undefined) return known;
  const line = value.trimStart().split("\n", 1)[0] ?? "";
  const cut = line.length > LONGEST ? `${[...line].slice(0, LONGEST).join("")}…` : line;
  if (value.length <= LONGEST) {
    if (texts.size >= MOST_TEXTS) texts.clear();
    texts.set(value, cut);
  }
  return cut;
}

/** Names, outcomes and notes come again and again: of a hundred thousand tasks, a few hundred texts. */
const texts = new Map<string, string>();
const MOST_TEXTS = 2000;
