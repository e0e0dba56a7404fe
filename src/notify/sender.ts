import { isVivError } from "../base/errors.ts";
import { isRecord } from "../base/json.ts";
import { withFileLock } from "../platform/files/file-lock.ts";
import type { Target } from "./config.ts";
import { type Message, type Said, saidOf } from "./message.ts";
import type { OutboxFiles } from "./outbox-files.ts";
import {
  type Attempted,
  afterTry,
  type Batch,
  type Pace,
  planned,
  WITHIN_MS,
  withoutTarget,
} from "./plan.ts";

export interface SenderOptions {
  targets: () => readonly Target[];
  deliver(target: Target, said: Said): Promise<Attempted>;
  now(): number;
  random(): number;
  /** `targets` are all of viv.toml: a message that has none among them fails after a day. */
  knowsAll?: boolean;
}

export interface Passed {
  sent: number;
  /** When something is due next; null: nothing waits. */
  next: number | null;
  /** Another process sends just now: it, or a later pass, sees to the rest. */
  isBusy: boolean;
}

const DAY_MS = 86_400_000;
/** After so long they are removed. */
const KEPT_MS = { sent: 7 * DAY_MS, failed: 30 * DAY_MS, unsure: 30 * DAY_MS };
const LAST_WAIT_MS = 10_000;
const DIED = "the process that sent it died before an answer came";

/**
 * Sends what is due, one process at a time. A message is moved to `sending` before its request, and
 * what is found there later is not sent again.
 */
export class Sender {
  readonly #files: OutboxFiles;
  readonly #options: SenderOptions;
  #prunedAt = Number.NEGATIVE_INFINITY;

  constructor(files: OutboxFiles, options: SenderOptions) {
    this.#files = files;
    this.#options = options;
  }

  /** `isOver`: asked before each request; when it is, the rest waits. `isLast`: see `planned`. */
  async pass(isOver: () => boolean = () => false, isLast = false): Promise<Passed> {
    const files = this.#files;
    if (!files.isThere()) return { sent: 0, next: null, isBusy: false };
    // Most looks find nothing: those need no lock.
    const { batches, next, lost } = this.#plan(isLast);
    const isIdle = batches.length === 0 && lost.noted.size === 0;
    if (isIdle && files.ids("sending").length === 0) return { sent: 0, next, isBusy: false };
    try {
      // The last one waits: what was entered just now may be too late for the process that sends.
      return await withFileLock(
        files.locks.sender,
        () => {
          this.#recover();
          this.#prune();
          this.#failLost();
          return this.#sendDue(isOver, isLast);
        },
        { waitMs: isLast ? LAST_WAIT_MS : 0 },
      );
    } catch (error) {
      if (!isVivError(error, "LOCKED")) throw error;
      return { sent: 0, next: null, isBusy: true };
    }
  }

  async #sendDue(isOver: () => boolean, isLast: boolean): Promise<Passed> {
    let sent = 0;
    for (;;) {
      const { batches, next, pace } = this.#plan(isLast);
      if (batches.length === 0 || isOver()) return { sent, next, isBusy: false };
      // One request for each target, then a new look: its pace has changed.
      const firsts = batches.filter(
        ({ target }, i) => batches.findIndex((one) => one.target === target) === i,
      );
      const ends = await Promise.all(firsts.map((batch) => this.#send(batch, pace)));
      sent += ends.reduce((sum, n) => sum + n, 0);
    }
  }

  #plan(isLast: boolean) {
    const { targets, now, knowsAll } = this.#options;
    const pace = this.#pace();
    const paceOf = (name: string): Pace => pace.get(name) ?? { requests: [] };
    const waiting = this.#files.messages("new");
    const plan = planned(waiting, targets(), paceOf, now(), isLast);
    const judged = knowsAll ? { waiting, pace } : { waiting: [], pace: new Map() };
    const lost = withoutTarget(judged.waiting, targets(), judged.pace, now());
    const times = [plan.next, lost.next].filter((one) => one !== null);
    return { ...plan, next: times.length === 0 ? null : Math.min(...times), lost, pace };
  }

  #failLost(): void {
    const files = this.#files;
    const { lost, pace } = this.#plan(false);
    const at = new Date(this.#options.now()).toISOString();
    for (const message of lost.failed) {
      const { id, target } = message;
      const reason = `for a day, viv.toml had no [[notify]] with the name ${target}`;
      if (files.isFinal(id)) files.remove("new", id);
      else {
        files.rewrite("new", { ...message, reason, end: { state: "failed", at } });
        files.move(id, "new", "failed");
      }
    }
    if (lost.noted.size === 0) return;
    for (const [name, since] of lost.noted) {
      pace.set(name, { requests: [], ...pace.get(name), lost: since });
    }
    this.#writePace(pace);
  }

  async #send({ target, messages }: Batch, pace: Map<string, Pace>): Promise<number> {
    const { deliver, now, random } = this.#options;
    const files = this.#files;
    const begun: Message[] = [];
    for (const message of messages) {
      // Entered again while, or after, it was sent.
      if (files.isFinal(message.id)) files.remove("new", message.id);
      else {
        const { end, ...rest } = message;
        // What became of the last try says nothing about this one.
        if (end !== undefined) files.rewrite("new", rest);
        begun.push(rest);
      }
    }
    const [first] = begun;
    if (first === undefined) return 0;
    const at = now();
    const requests = (pace.get(target.name)?.requests ?? []).filter((one) => one > at - WITHIN_MS);
    pace.set(target.name, { requests: [...requests, at] });
    // All that a full disk can refuse comes before the first rename: from there on it is unsure.
    this.#writePace(pace);
    for (const { id } of begun) files.begin(id);
    const attempted = await deliver(target, saidOf(begun, target.title));
    const chance = random();
    for (const message of begun) {
      const { message: after, until } = afterTry(message, attempted, now(), chance);
      const isTogether = message !== first;
      files.settle(isTogether ? { ...after, with: first.id } : after);
      if (until !== undefined) pace.set(target.name, { requests: [...requests, at], until });
    }
    this.#writePace(pace);
    return attempted.kind === "sent" ? begun.length : 0;
  }

  /** What a process left that died in the middle. */
  #recover(): void {
    const files = this.#files;
    for (const id of files.ids("sending")) {
      const message = files.read("sending", id);
      const at = new Date(this.#options.now()).toISOString();
      if (message === null) files.move(id, "sending", "unsure");
      else if (message.end !== undefined) files.move(id, "sending", message.end.state);
      else files.settle({ ...message, reason: DIED, end: { state: "unsure", at } });
    }
  }

  #prune(): void {
    const now = this.#options.now();
    if (Math.abs(now - this.#prunedAt) < DAY_MS / 24) return;
    this.#prunedAt = now;
    for (const state of ["sent", "failed", "unsure"] as const) {
      for (const id of this.#files.ids(state)) {
        if (now - this.#files.writtenAt(state, id) > KEPT_MS[state]) this.#files.remove(state, id);
      }
    }
  }

  #pace(): Map<string, Pace> {
    const found = this.#files.readRecord("pace");
    if (found === null) return new Map();
    return new Map(
      Object.entries(found).flatMap(([name, one]): [string, Pace][] => {
        if (!isRecord(one) || !Array.isArray(one.requests)) return [];
        const requests = one.requests.filter((at): at is number => typeof at === "number");
        const time = (value: unknown) => (typeof value === "number" ? value : undefined);
        return [[name, { requests, until: time(one.until), lost: time(one.lost) }]];
      }),
    );
  }

  #writePace(pace: ReadonlyMap<string, Pace>): void {
    this.#files.writePace(Object.fromEntries(pace));
  }
}
