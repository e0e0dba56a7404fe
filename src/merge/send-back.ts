import type { Store } from "../queue/store.ts";
import type { Landing } from "./landing.ts";

/** Why a task goes back: the text is what its handler gets as evidence. */
export interface SentBack {
  why: "conflict" | "red" | "review";
  /** One sentence for `why` and the ledger. */
  reason: string;
  /** The conflict, the output of the failed proof, or the comments of a review. */
  evidence: string;
  /** The commit that its work must come onto: the tip of the target. */
  tip: string;
  /** The merged tree with conflict markers in its files, if git made one. */
  tree?: string;
  files?: readonly string[];
}

/**
 * Sends a done task back for another attempt, at most `reworks` times; then it waits for a person.
 * Returns the landing as it now stands on disk: `reworked` or `needs_you`.
 */
export async function sendBack(
  _store: Store,
  _landing: Landing,
  _sent: SentBack,
  _reworks: number,
): Promise<Landing> {
  throw new Error("not there yet");
}
