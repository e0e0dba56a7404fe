import type { ProcessIdentity } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { isName } from "../base/names.ts";
import type { Attempt } from "./dance.ts";
import type { Bound, Warrant } from "./warrant.ts";

/**
 * The health check: the question to a suspect. `suspects/type-question.ts` types it into a terminal,
 * `suspects/process-suspect.ts` writes it to a file for a target without one.
 *
 * The typed line is short, contains the exact answer, and is plain words: nothing in it means more to
 * a shell, or to an agent's own input box. Its first word is no program, and neither is any word that
 * is left over when a program has read a part of the line: so there is no full stop (`. Nonce` runs a
 * file), no `type`, no word that ends with `r`, and a nonce ends with digits. Reason and requester can
 * be any text, so they are never typed: they stay in the receipt.
 */
export interface Question {
  nonce: string;
  /** For a program that reads lines. */
  typed: string;
  /**
   * For the input box of a known agent: the label names the nonce. A shell that gets it finds
   * a syntax error, or no program `saying`: fish runs what is in parentheses.
   */
  typedToAgent: string;
  /** For a target without a terminal: the text of a file. */
  lines: string[];
}

/** The question of one attempt. */
export function questionOf(
  { warrant }: { warrant: Pick<Warrant, "target" | "reason" | "requester"> },
  { number, nonce, timeout_ms }: Pick<Attempt, "number" | "nonce" | "timeout_ms">,
  attempts: number,
): Question {
  const seconds = Math.max(1, Math.round(timeout_ms / 1000));
  return {
    nonce,
    typed: `Warden health check Nonce ${nonce} Reply with ALIVE ${nonce} on a line by itself`,
    typedToAgent: `Warden health check Nonce: ${nonce} (saying ALIVE ${nonce} on a line by itself is enough)`,
    lines: [
      `[DOG] HEALTH CHECK: Session ${warrant.target}, respond ALIVE within ${seconds}s or face termination.`,
      `Warrant reason: ${warrant.reason}`,
      `Filed by: ${warrant.requester}`,
      `Attempt: ${number}/${attempts}`,
      `Nonce: ${nonce} (to answer, run: viv alive ${nonce})`,
    ],
  };
}

/** The texts that a terminal may echo. */
export function wordingsOf({ typed, typedToAgent }: Question): string[] {
  return [typed, typedToAgent];
}

const NONCE_LETTERS = "abcdefghjkmnpqrstuvwxyz";
const NONCE_DIGITS = "23456";

/**
 * Six characters that are not mistaken for others; `random` gives whole numbers below its argument.
 * No end of it is a program, as `rm`, `m4` and `c99` would be.
 */
export function newNonce(random: (below: number) => number): string {
  const from = (letters: string, count: number) =>
    Array.from({ length: count }, () => letters[random(letters.length)]);
  return [...from(NONCE_LETTERS, 4), ...from(NONCE_DIGITS, 2)].join("");
}

export function assertNonce(value: string): string {
  if (isName(value) && value.length >= 4) return value;
  const todo = "the question says which one: viv alive NONCE";
  throw new VivError("INVALID", `${JSON.stringify(value.slice(0, 40))} is no nonce; ${todo}`);
}

/** Written by `viv alive NONCE`. It names its sender, so that no other process can answer for a suspect. */
export interface AliveAnswer {
  nonce: string;
  at: string;
  host: string;
  boot: string;
  /** The sender and its ancestors, up to the machine's first process. */
  chain: Pick<ProcessIdentity, "pid" | "started">[];
  /** Its VIV_CLAIM. */
  claim: string;
}

/**
 * Whether the bound process, a descendant, or a process with its mark has answered. For a session,
 * any process of its server: only the session was shown the nonce.
 */
export function isAnswerOf(text: string | null, nonce: string, bound: Bound): boolean {
  const answer = text === null ? null : answerFrom(text);
  if (answer === null || answer.nonce !== nonce) return false;
  const isFrom = (one: { pid: number; started: string }) =>
    answer.chain.some((each) => each?.pid === one.pid && each.started === one.started);
  if (bound.is === "session") return isFrom(bound.server);
  if (answer.host !== bound.host || answer.boot !== bound.boot) return false;
  if (bound.claim !== "" && answer.claim === bound.claim) return true;
  return isFrom(bound);
}

function answerFrom(text: string): AliveAnswer | null {
  try {
    const value = JSON.parse(text) as AliveAnswer;
    return Array.isArray(value?.chain) ? value : null;
  } catch {
    return null; // not an answer
  }
}
