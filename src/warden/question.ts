import type { Attempt, Dance } from "./dance.ts";

/**
 * The health check: the question to a suspect. `suspects/type-question.ts` types it into a terminal,
 * `suspects/process-suspect.ts` writes it to a file for a target without one.
 *
 * The typed line is short, has the exact answer in it, and is plain words: nothing in it means more to
 * a shell, or to an agent's own input box. Its first word is no program, and neither is any word that
 * is left over when a program has read a part of the line: so there is no full stop (`. Nonce` runs a
 * file), no `type`, no word that ends with `r`, and a code ends with digits. The reason and the
 * requester can be any text, so they are never typed: they stay in the receipt.
 */
export interface Question {
  nonce: string;
  /** For a program that reads lines. */
  typed: string;
  /**
   * For the input box of a known agent: the label names the code. A shell that gets it finds
   * a syntax error, or no program `saying`: fish runs what is in parentheses.
   */
  typedToAgent: string;
  /** For a target without a terminal: the file that it finds. */
  lines: string[];
}

export function questionFor(about: {
  target: string;
  reason: string;
  requester: string;
  attempt: number;
  attempts: number;
  timeoutMs: number;
  nonce: string;
}): Question {
  const { nonce, target, reason, requester, attempt, attempts } = about;
  const seconds = Math.max(1, Math.round(about.timeoutMs / 1000));
  return {
    nonce,
    typed: `Warden health check Nonce ${nonce} Reply with ALIVE ${nonce} on a line by itself`,
    typedToAgent: `Warden health check Nonce: ${nonce} (saying ALIVE ${nonce} on a line by itself is enough)`,
    lines: [
      `[DOG] HEALTH CHECK: Session ${target}, respond ALIVE within ${seconds}s or face termination.`,
      `Warrant reason: ${reason}`,
      `Filed by: ${requester}`,
      `Attempt: ${attempt}/${attempts}`,
      `Nonce: ${nonce} (to answer, run: viv alive ${nonce})`,
    ],
  };
}

/** The question of one attempt. */
export function questionOf({ warrant }: Dance, attempt: Attempt, attempts: number): Question {
  const { target, reason, requester } = warrant;
  const { number, nonce, timeout_ms: timeoutMs } = attempt;
  return questionFor({ target, reason, requester, attempt: number, attempts, timeoutMs, nonce });
}

/** What a terminal may show as the echo of a question. */
export function wordingsOf({ typed, typedToAgent }: Question): string[] {
  return [typed, typedToAgent];
}

const NONCE_LETTERS = "abcdefghjkmnpqrstuvwxyz";
const NONCE_DIGITS = "23456";

/**
 * Six characters that cannot be mistaken for others; `random` gives whole numbers below its argument.
 * The end of one is no program: `rm` would be, and `m4`, and `c99`.
 */
export function newNonce(random: (below: number) => number): string {
  const from = (letters: string, count: number) =>
    Array.from({ length: count }, () => letters[random(letters.length)]);
  return [...from(NONCE_LETTERS, 4), ...from(NONCE_DIGITS, 2)].join("");
}
