import { VivError } from "../base/errors.ts";
import { idWord } from "../base/names.ts";
import { type HistoryRecord, isAttempt, type Proof } from "./attempt.ts";

/**
 * Is the work of a task proven? Only a `done_when` asks for that. The end of the last attempt must be
 * recorded with a proof that passed, and nothing may have sent the task back since. `proof.json` only
 * has the details: a handler can write it too, and it stays when a task is moved by hand.
 */

/** Recorded where a task that asks for a proof ends as done without one. */
export const NO_PROOF = "no proof ran";

/** There is a `proof.json`, and no end that had it. */
const NOT_RECORDED = "no attempt ended with its proof: the ledger has none";

/** Of work that was handed in. */
export const WAITS_FOR_PROOF = "its work is done and waits for a worker that proves it";

/** Null when it is proven, or nothing asks for a proof; else why not, as the end of a sentence. */
export function whyUnproven(
  doneWhen: unknown,
  proof: Proof | null,
  history: readonly HistoryRecord[],
): string | null {
  if (typeof doneWhen !== "string") return null;
  const last = history.at(-1);
  const ended = last !== undefined && isAttempt(last) ? last : undefined;
  if (ended?.proof === "passed") return null;
  const attempt = ended?.attempt ?? history.filter(isAttempt).length + 1;
  if (proof === null) return NO_PROOF;
  if (proof.attempt !== attempt) {
    return `the last proof is of attempt ${proof.attempt}, and this is attempt ${attempt}`;
  }
  if (proof.exit === 0) return ended?.unproven ?? NOT_RECORDED;
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
