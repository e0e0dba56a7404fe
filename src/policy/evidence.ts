import type { Burst } from "../model/dance.ts";
import type { Question } from "../model/question.ts";

/** What a suspect's terminal says about it. Pure: looks come in, conclusions go out. */

/**
 * The nonce that was answered, or null. The question never has the word and the nonce side by side,
 * whatever a program makes of its echo; only an answer has. A terminal may break the line between.
 */
export function answeredNonce(screen: readonly string[], nonces: readonly string[]): string | null {
  const text = screen.join("\n");
  return (
    nonces.find((nonce) =>
      new RegExp(`\\bALIVE\\b[^A-Za-z0-9]{1,12}${nonce}\\b`, "i").test(text),
    ) ?? null
  );
}

const CLOCK = /\b\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?\b/g;
const DATE = /\b\d{4}-\d{2}-\d{2}T?/g;
const TIME = /\b\d+(?:[.,]\d+)?\s*(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b/gi;
/** So many letters and digits of the question in a row are its echo. */
const SHORTEST_ECHO = 6;
/** How programs show that something long was pasted. */
const PASTED = /pasted (?:text|content)/i;

/**
 * What a line says without what changes by itself: spinners, frames, clocks, and how long something
 * has taken. "" when nothing is left. Other numbers stay: 40 % after 30 % is progress.
 */
export function tellingPart(line: string): string {
  const steady = line.replace(DATE, "").replace(CLOCK, "").replace(TIME, "");
  return steady.replace(/[^\p{L}\p{N}%]+/gu, "").toLowerCase();
}

/** What was seen of a screen, and so is not new any more. */
export class SeenLines {
  readonly #seen = new Set<string>();
  #question = "";

  add(screen: readonly string[]): void {
    for (const line of screen) this.#seen.add(tellingPart(line));
  }

  /** Its words are nobody's output, however a terminal wraps and frames them. */
  addQuestion({ lines }: Question): void {
    this.#question += lines.map(tellingPart).join("");
  }

  /** The lines that are new; from now on they are not. */
  take(screen: readonly string[]): string[] {
    const fresh: string[] = [];
    for (const line of screen) {
      const part = tellingPart(line);
      if (part === "" || this.#seen.has(part)) continue;
      this.#seen.add(part);
      if (!PASTED.test(line) && this.#isOwn(part)) fresh.push(line.trim());
    }
    return fresh;
  }

  /** Whether more of it is new than the question's words: these may be echoed on any line. */
  #isOwn(part: string): boolean {
    if (this.#question.includes(part)) return false;
    let rest = "";
    for (let at = 0; at < part.length; ) {
      let end = at + SHORTEST_ECHO;
      if (end > part.length || !this.#question.includes(part.slice(at, end))) {
        rest += part[at++];
        continue;
      }
      while (end < part.length && this.#question.includes(part.slice(at, end + 1))) end++;
      at = end;
    }
    if (rest === part) return true;
    return rest.length > part.length - rest.length && !this.#seen.has(rest);
  }
}

/**
 * Output that keeps coming: seen at two looks or more, that far apart. One burst is none: it may be
 * the last that a program says, a file that is shown, or its reaction to being typed at.
 */
export function isProgress(bursts: readonly Burst[], spreadMs: number): boolean {
  const times = bursts.map(({ at }) => Date.parse(at));
  return times.length > 1 && Math.max(...times) - Math.min(...times) >= spreadMs;
}
