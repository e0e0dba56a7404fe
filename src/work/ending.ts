import { setImmediate } from "node:timers/promises";
import { formatTook } from "../base/duration.ts";
import { isVivError, messageOf } from "../base/errors.ts";
import { failedLine } from "../base/failed-line.ts";
import { fingerprint } from "../base/fingerprint.ts";
import { idWord } from "../base/names.ts";
import { listed } from "../base/text.ts";
import { Unrecorded } from "../platform/machine-retry.ts";
import type { Finished } from "../platform/processes/handlers.ts";
import type { Proof } from "../queue/attempt.ts";
import type { CompletionOptions, Ended, FailureReport } from "../queue/store.ts";
import type { AttemptContext } from "./place.ts";

/** The end of an attempt: one call of the store, which decides where the task goes. */
export type AttemptEnd =
  | { kind: "ended"; outcome: string; ended: Ended; note?: string }
  | { kind: "lost" };

export type Report = FailureReport & { outcome: string; note: string };

export class Ending {
  protected readonly context: AttemptContext;
  readonly #onIdle: (() => void) | undefined;

  constructor(context: AttemptContext, onIdle?: () => void) {
    this.context = context;
    this.#onIdle = onIdle;
  }

  /** `proof`: of what passed; none when nothing asks for one. */
  done(note?: string, proof?: CompletionOptions["proof"]): Promise<AttemptEnd> {
    const { store, ref, route } = this.context;
    const how = { inBackground: true, review: route.review, note, proof };
    return this.#end("done", () => store.complete(ref, how), note);
  }

  async failed(report: Report, finished?: Finished, proof?: Proof): Promise<AttemptEnd> {
    const { store, ref, route } = this.context;
    const { maxAttempts, backoffMs } = route;
    if (finished) await this.#keepEvidence(report, proof);
    const act = () => store.fail(ref, { ...report, maxAttempts, backoffMs });
    return this.#end(report.outcome, act, report.note);
  }

  released(why: string): Promise<AttemptEnd> {
    const { store, ref } = this.context;
    return this.#end("released", () => store.release(ref, { note: why }), why);
  }

  /** Final: the next attempt would share the workspace with processes that do not end. */
  stuck({ survivors }: Finished): Promise<AttemptEnd> {
    const note = `its ${listed("process", survivors)} cannot be ended; end ${survivors.length === 1 ? "it" : "them"}, then: viv retry ${idWord(this.context.id)}`;
    return this.failed({ outcome: "failed", note, final: true });
  }

  /** For people and for the next attempt. A failure to keep it must not hide the report. */
  async #keepEvidence(report: Report, proof: Proof | undefined): Promise<void> {
    const { id, host, retry, claim } = this.context;
    const { artifacts } = host;
    const { attempt, worker } = claim;
    const { outcome, note } = report;
    const log = proof ? artifacts.proofLogOf(id) : artifacts.logOf(id);
    const what = { attempt, worker, outcome, note, at: new Date().toISOString(), proof };
    try {
      await retry.untilDone(() => artifacts.keepEvidence(id, what, log));
    } catch (error) {
      report.note = `${note} (its evidence could not be kept: ${messageOf(error)})`;
    }
  }

  /**
   * The work is done and only its record is missing. It is tried until it succeeds: otherwise the work
   * would be done, and paid for, again.
   */
  async #end(outcome: string, act: () => Promise<Ended>, note?: string): Promise<AttemptEnd> {
    if (this.#onIdle) {
      this.#onIdle();
      await setImmediate(); // so that the next handler starts first, and runs meanwhile
    }
    try {
      const ended = await this.context.retry.untilDone(act, { holds: mayBeRecordedLater });
      return { kind: "ended", outcome, ended, note: note || undefined };
    } catch (error) {
      if (isVivError(error, "CLAIM_LOST")) return { kind: "lost" };
      throw error instanceof Unrecorded ? this.#abandoned(outcome, error) : error;
    }
  }

  #abandoned(outcome: string, error: Unrecorded): Unrecorded {
    const { id, worker, token } = this.context.ref;
    const rescue =
      outcome === "done"
        ? `its work will be done again, unless you run this before another worker begins: viv complete ${idWord(id)} --worker ${worker} --token ${token}`
        : "it stays claimed until it is reaped, and is given out again then";
    const message = `its end (${outcome}) could not be recorded: ${error.message} ${rescue}.`;
    return new Unrecorded(error.code, message, { outcome }, { cause: error.cause });
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

/** With the limit, not the duration, which includes the time to end it. */
function describe({ exit, signal, error, cause, limitMs }: Finished): string {
  if (cause === "timed_out") return `not finished after ${formatTook(limitMs ?? 0)}`;
  return error ?? (signal ? `ended by ${signal}` : `exit ${exit}`);
}

/** The note of a failure: how it ended, and the line that tells what failed. */
export function said(how: string, finished: Finished): string {
  const line = failedLine(finished.tail);
  return (line === undefined ? how : `${how}: ${line}`).slice(0, 500);
}
