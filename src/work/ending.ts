import { setImmediate } from "node:timers/promises";
import { formatTook } from "../base/duration.ts";
import { isVivError } from "../base/errors.ts";
import { fingerprint, tellingLines } from "../base/fingerprint.ts";
import { type MachineRetry, Unrecorded } from "../platform/machine-retry.ts";
import type { Finished } from "../platform/processes/handlers.ts";
import type { Proof } from "../queue/attempt.ts";
import type { Ended, FailureReport } from "../queue/store.ts";
import type { AttemptContext } from "./place.ts";

/** The end of an attempt: one call of the store, which decides where the task goes. */
export type AttemptEnd =
  | { kind: "ended"; outcome: string; ended: Ended; note?: string }
  | { kind: "lost" };

export type Report = FailureReport & { outcome: string; note: string };

export class Ending {
  readonly #context: AttemptContext;
  readonly #retry: MachineRetry;
  readonly #onIdle: (() => void) | undefined;

  constructor(context: AttemptContext, retry: MachineRetry, onIdle?: () => void) {
    this.#context = context;
    this.#retry = retry;
    this.#onIdle = onIdle;
  }

  done(note?: string): Promise<AttemptEnd> {
    const { store, route } = this.#context;
    const how = { inBackground: true, review: route.review, note };
    return this.#end("done", () => store.complete(this.#ref, how), note);
  }

  async failed(report: Report, finished?: Finished, proof?: Proof): Promise<AttemptEnd> {
    const { store, route } = this.#context;
    const { maxAttempts, backoffMs } = route;
    if (finished) await this.#keepEvidence(report, proof);
    return this.#end(
      report.outcome,
      () => store.fail(this.#ref, { ...report, maxAttempts, backoffMs }),
      report.note,
    );
  }

  released(why: string): Promise<AttemptEnd> {
    const { store } = this.#context;
    return this.#end("released", () => store.release(this.#ref, { note: why }), why);
  }

  /** The next attempt would share the workspace with processes that do not end: there is none. */
  stuck({ survivors }: Finished): Promise<AttemptEnd> {
    const note = `its processes ${survivors.join(", ")} cannot be ended; end them, then: viv retry ${this.#id}`;
    return this.failed({ outcome: "failed", note, final: true });
  }

  /** For people and for the next attempt. That it cannot be kept must not hide what it is about. */
  async #keepEvidence(report: Report, proof: Proof | undefined): Promise<void> {
    const { artifacts } = this.#context.host;
    const { attempt, worker } = this.#context.claim;
    const { outcome, note } = report;
    const log = proof ? artifacts.proofLogOf(this.#id) : artifacts.logOf(this.#id);
    const at = new Date().toISOString();
    const what = { attempt, worker, outcome, note, at, proof };
    try {
      await this.#retry.untilDone(() => artifacts.keepEvidence(this.#id, what, log));
    } catch (error) {
      report.note = `${note} (its evidence could not be kept: ${sentence(error)})`;
    }
  }

  /**
   * The work is done and only its record is missing. Whatever keeps us from writing it is waited
   * for: given up, finished work would be done again, and paid for again.
   */
  async #end(outcome: string, act: () => Promise<Ended>, note?: string): Promise<AttemptEnd> {
    if (this.#onIdle) {
      this.#onIdle();
      await setImmediate(); // so that the next handler starts first, and runs meanwhile
    }
    try {
      const ended = await this.#retry.untilDone(act, { holds: mayBeRecordedLater });
      return { kind: "ended", outcome, ended, note: note || undefined };
    } catch (error) {
      if (isVivError(error, "CLAIM_LOST")) return { kind: "lost" };
      throw error instanceof Unrecorded ? this.#abandoned(outcome, error) : error;
    }
  }

  #abandoned(outcome: string, error: Unrecorded): Unrecorded {
    const { worker, token } = this.#context.claim;
    const rescue =
      outcome === "done"
        ? `its work will be done again, unless you run this before another worker begins: viv complete ${this.#id} --worker ${worker} --token ${token}`
        : "it stays claimed until it is reaped, and is given out again then";
    const message = `its end (${outcome}) could not be recorded: ${error.message} ${rescue}.`;
    return new Unrecorded(error.code, message, { outcome }, { cause: error.cause });
  }

  get #id(): string {
    return this.#context.claim.task.task_id;
  }

  get #ref() {
    const { worker, token } = this.#context.claim;
    return { id: this.#id, worker, token };
  }
}

function mayBeRecordedLater(error: unknown): boolean {
  return !isVivError(error, "CLAIM_LOST") && !isVivError(error, "RUN_NOT_FOUND");
}

export function reportOf(outcome: "failed" | "unproven" | "timed_out", finished: Finished): Report {
  const { exit, signal, tail } = finished;
  return {
    outcome,
    note: said(describe(finished), finished),
    fingerprint: fingerprint({ outcome, exit, signal, tail }),
  };
}

/** The limit, and not how long it ran: ending it may have taken its time as well. */
function describe({ exit, signal, error, cause, limitMs }: Finished): string {
  if (cause === "timed_out") return `not finished after ${formatTook(limitMs ?? 0)}`;
  return error ?? (signal ? `ended by ${signal}` : `exit ${exit}`);
}

/** The note of a failure: how it ended and its last words. */
export function said(how: string, finished: Finished): string {
  const [last] = tellingLines(finished.tail, 1);
  return (last === undefined ? how : `${how}: ${last}`).slice(0, 500);
}

export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
