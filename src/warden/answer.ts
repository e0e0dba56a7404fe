import type { Burst } from "./dance.ts";
import { type Question, wordingsOf } from "./question.ts";

/**
 * Finds answers and progress on a terminal's screen. Only output after the question counts: neither
 * its echo, however a terminal wraps and frames it, nor older text.
 */

/**
 * So many letters and digits of the question in a row are its echo. Fewer may be a quotation ("health
 * check OK"), but at the top of a screen the rest of an echo may be cut.
 */
const SHORTEST_ECHO = 24;
const SHORTEST_CUT_ECHO = 8;
/** How programs show that something long was pasted. */
const PASTED = /\[?pasted (?:text|content|~?\d+ lines)/i;
const SPINNERS = /^[\s✻✶✳✢✽·*⠁-⣿◐◓◑◒|/\\-]+/u;
const CLOCK = /\b\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?\b/g;
const DATE = /\b\d{4}-\d{2}-\d{2}T?/g;
const TIME = /\b\d+(?:[.,]\d+)?\s*(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b/gi;

/**
 * A line without the parts that change by themselves: spinners, frames, clocks, durations; "" when
 * nothing is left. Other numbers stay: 40 % after 30 % is progress.
 */
export function tellingPart(line: string): string {
  const steady = line.replace(DATE, "").replace(CLOCK, "").replace(TIME, "");
  return steady.replace(/[^\p{L}\p{N}%]+/gu, "").toLowerCase();
}

/** One line of a screen. */
export interface OwnLine {
  text: string;
  /** The same with the question's echo blanked out. */
  own: string;
  hasEcho: boolean;
}

/** The lines of a screen without the echoes of these questions. */
export function withoutEcho(screen: readonly string[], questions: readonly Question[]): OwnLine[] {
  const isEcho = screen.map((line) => new Array<boolean>(line.length).fill(false));
  const wordings = questions.flatMap((question) =>
    wordingsOf(question).map((text) => ({
      wording: lettersOf(text),
      answer: lettersOf(`ALIVE ${question.nonce}`),
    })),
  );
  // All rows as one text, and each column of a screen that is split into panels: an echo may wrap in either.
  const rows = screen.flatMap((line, row) => lettersIn(line, row, 0));
  for (const letters of [rows, ...columnsOf(screen)]) {
    for (const one of wordings) markEcho(letters, one, isEcho);
  }
  return screen.map((text, row) => {
    const marks = isEcho[row] as boolean[];
    const own = text.replace(/./gs, (char, at: number) => (marks[at] ? " " : char));
    return { text, own, hasEcho: marks.includes(true) };
  });
}

interface Letter {
  char: string;
  row: number;
  at: number;
}

function lettersOf(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, "").toLowerCase();
}

function lettersIn(text: string, row: number, from: number): Letter[] {
  const letters: Letter[] = [];
  for (const { 0: char, index } of text.matchAll(/[\p{L}\p{N}]/gu)) {
    letters.push({ char: char.toLowerCase(), row, at: from + index });
  }
  return letters;
}

/** A column may begin this far from the one above it: a bullet, then an indented line. */
const SAME_COLUMN = 3;

/** Panels side by side, each as one text from top to bottom. */
function columnsOf(screen: readonly string[]): Letter[][] {
  const done: Letter[][] = [];
  let open: { start: number; letters: Letter[] }[] = [];
  for (const [row, line] of screen.entries()) {
    const next: typeof open = [];
    for (const match of line.matchAll(/[^\s│┃║|▌▐╎┆](?:(?!\s{3,}|[│┃║|▌▐╎┆]).)*/gu)) {
      const above = open.find(({ start }) => Math.abs(start - match.index) <= SAME_COLUMN);
      const letters = above?.letters ?? [];
      if (above === undefined) done.push(letters);
      letters.push(...lettersIn(match[0], row, match.index));
      next.push({ start: match.index, letters });
    }
    // An empty row (within a frame) does not end a panel.
    if (next.length > 0) open = next;
  }
  return done;
}

/** A letter or two before an answer may happen to be the question's, too. */
const BEFORE_ANSWER = 6;

/** Marks the letters of the wording. Its part `answer`, by itself, is an answer and no echo. */
function markEcho(
  letters: readonly Letter[],
  { wording, answer }: { wording: string; answer: string },
  isEcho: boolean[][],
): void {
  // One unit each, so that places in the text are places in the list.
  const text = letters.map(({ char }) => (char.length === 1 ? char : "_")).join("");
  for (let at = 0; at < text.length; ) {
    const length = commonLength(text, at, wording);
    const word = text.slice(at, at + length).indexOf("alive");
    const isBegun = word >= 0 && word < BEFORE_ANSWER;
    const isAnswer = isBegun && (at > 0 || length < answer.length + SHORTEST_CUT_ECHO);
    const isLong = length >= (at === 0 ? SHORTEST_CUT_ECHO : SHORTEST_ECHO);
    for (const { row, at: column } of isLong && !isAnswer ? letters.slice(at, at + length) : []) {
      (isEcho[row] as boolean[])[column] = true;
    }
    at += isLong ? length : 1;
  }
}

/** How many letters in a row from there on are the wording's; 0 below the shortest echo. */
function commonLength(text: string, at: number, wording: string): number {
  let length = SHORTEST_CUT_ECHO;
  if (at + length > text.length || !wording.includes(text.slice(at, at + length))) return 0;
  while (at + length < text.length && wording.includes(text.slice(at, at + length + 1))) length++;
  return length;
}

const SAYS_SO = /\b(?:i'?m|i am|we are|still|yes|yep)\b[^.!?]*\balive\b/i;

/** The nonce makes an answer certain, whatever stands beside it; ALIVE counts alone on its line or in a sentence. */
export function answerIn(
  lines: readonly OwnLine[],
  nonces: readonly string[],
): "certain" | "word" | null {
  let found: "word" | null = null;
  for (const { own } of lines) {
    const words = own.replace(/[^\p{L}\p{N}']+/gu, " ").trim();
    const padded = ` ${words.toLowerCase()} `;
    if (nonces.some((one) => padded.includes(` ${one.toLowerCase()} `))) return "certain";
    if (isAliveLine(words, own)) found = "word";
  }
  return found;
}

/** Capitals anywhere in a sentence; small letters only in a sentence about oneself. */
function isAliveLine(words: string, own: string): boolean {
  const isPlain = /^(?:\w+ )?alive$|^alive\b/i.test(words);
  return isPlain || /(?:^|[^\w/.=-])ALIVE(?![\w=/-])/.test(own) || SAYS_SO.test(words);
}

/** The lines of a screen that are not new any more. */
export class SeenLines {
  readonly #seen = new Set<string>();
  readonly #questions: Question[] = [];

  add(screen: readonly string[]): void {
    for (const line of screen) this.#seen.add(tellingPart(line));
  }

  addQuestion(question: Question): void {
    this.#questions.push(question);
  }

  /** The lines that are new; from now on they are not. */
  take(screen: readonly string[]): OwnLine[] {
    const fresh: OwnLine[] = [];
    for (const line of withoutEcho(screen, this.#questions)) {
      const [part, own] = [tellingPart(line.text), tellingPart(line.own)];
      if (part === "" || this.#seen.has(part)) continue;
      const isKnown = own === "" || this.#seen.has(own) || PASTED.test(line.text);
      this.#seen.add(part);
      if (isKnown) continue;
      // The rest of a line with an echo is its frame: "you said:", a prompt.
      if (line.hasEcho && answerIn([line], this.#nonces()) === null) continue;
      if (this.#isPieceOfQuestion(own)) continue;
      fresh.push({ ...line, text: line.text.trim() });
    }
    return fresh;
  }

  /** Whether a nonce is answered anywhere on it: no older text can have one. */
  hasCertainAnswer(screen: readonly string[]): boolean {
    const lines = withoutEcho(screen, this.#questions);
    return answerIn(lines, this.#nonces()) === "certain";
  }

  /** Answers since the first question, though the same was said before it. */
  repeatedAnswers(screen: readonly string[]): OwnLine[] {
    const lines = withoutEcho(screen, this.#questions);
    const first = lines.findIndex(({ hasEcho }) => hasEcho);
    if (first < 0) return [];
    return lines.slice(first + 1).filter((line) => answerIn([line], this.#nonces()) !== null);
  }

  /** A line that is nothing but a few of its words, and not those of an answer. */
  #isPieceOfQuestion(part: string): boolean {
    const isAnswer = part.includes("alive") || this.#nonces().some((one) => part.includes(one));
    const wordings = this.#questions.flatMap(wordingsOf).map(lettersOf);
    return !isAnswer && wordings.some((wording) => wording.includes(part));
  }

  #nonces(): string[] {
    return this.#questions.map(({ nonce }) => nonce);
  }
}

/** Whether a line has words (letters of any script, or a sign like a raised thumb) and no echo. */
export function isSaid({ own, hasEcho }: OwnLine): boolean {
  if (hasEcho) return false;
  return /\p{L}{2}|\p{Lo}|\p{Extended_Pictographic}/u.test(own.replace(SPINNERS, ""));
}

/**
 * Output that keeps coming: seen at two or more looks, that far apart. One burst may be the last output
 * of a program, a file that is shown, or a reaction to typing.
 */
export function isProgress(bursts: readonly Burst[], spreadMs: number): boolean {
  const times = bursts.map(({ at }) => Date.parse(at));
  return times.length > 1 && Math.max(...times) - Math.min(...times) >= spreadMs;
}
