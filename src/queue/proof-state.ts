import { VivError } from "../base/errors.ts";
import { idWord } from "../base/names.ts";
import { type HistoryRecord, isAttempt, type Proof } from "./attempt.ts";

/**
 * Is the work of a task proven? Only a `done_when` asks for that. The proof must have passed, and be
 * that of the last attempt: an earlier one was about other work.
 */

/** Recorded where a task that asks for a proof ends as done without one. */
export const NO_PROOF = "no proof ran";

/** Of work that was handed in. */
export const WAITS_FOR_PROOF = "its work is done and waits for a worker that proves it";

/** Null when it is proven, or nothing asks for a proof; else why not, as the end of a sentence. */
export function whyUnproven(
  doneWhen: unknown,
  proof: Proof | null,
  history: readonly HistoryRecord[],
): string | null {
  if (typeof doneWhen !== "string") return null;
  const attempt = history.findLast(isAttempt)?.attempt ?? 1;
  if (proof === null) return NO_PROOF;
  if (proof.attempt !== attempt) {
    return `the last proof is of attempt ${proof.attempt}, and this is attempt ${attempt}`;
  }
  if (proof.exit === 0) return null;
  return proof.timed_out ? "its proof ran out of time" : `its proof failed (exit ${proof.exit})`;
}

/** Of an approval. */
export function unprovenError(id: string, why: string): VivError {
  const word = idWord(id);
  const message = `${id} is unproven: ${why}; send it back with: viv reject ${word} --note "…", or approve it all the same with: viv approve ${word} --unproven.`;
  return new VivError("UNPROVEN", message, { id, why });
}

/** Outcomes of attempts that changed nothing about the work that was handed in. */
const UNTOUCHED: readonly string[] = ["released", "abandoned", "rate_limited"];

/** Was the work handed in, and only its proof is missing? */
export function isHandedIn(history: readonly HistoryRecord[]): boolean {
  const last = history.findLast((one) => !isAttempt(one) || !UNTOUCHED.includes(one.outcome));
  return last !== undefined && isAttempt(last) && last.outcome === "handed_in";
}
