/**
 * What a suspect is asked. The word and the nonce are both in it, but never side by side: so only an
 * answer has them together, and neither an echo of the question, nor an older text, nor a file that
 * is being shown can be taken for one.
 */
export interface Question {
  nonce: string;
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
  const seconds = Math.max(1, Math.round(about.timeoutMs / 1000));
  return {
    nonce: about.nonce,
    lines: [
      `[DOG] HEALTH CHECK: Session ${about.target}, respond ALIVE within ${seconds}s or face termination.`,
      `Warrant reason: ${about.reason}`,
      `Filed by: ${about.requester}`,
      `Attempt: ${about.attempt}/${about.attempts}`,
      `Nonce: ${about.nonce} (say the word, a space and this nonce)`,
    ],
  };
}
