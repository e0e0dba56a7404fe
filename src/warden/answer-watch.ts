import { answerIn, isProgress, isSaid, type OwnLine, SeenLines } from "./answer.ts";
import type { Attempt, Burst, Dance, WorkSample } from "./dance.ts";
import { type Question, questionOf } from "./question.ts";
import type { Look } from "./suspects/suspect.ts";

type There = Extract<Look, { is: "there" }>;

const FIRST_LINES = 3;
const KEPT_LINES = 200;
const KEPT_BESIDE = 1_000;
const KEPT_BURSTS = 50;
/** A program's reaction to being typed at comes within this, or a tenth of its time. */
const REACTS_WITHIN_MS = 1_000;
/** A program that repeats the word more often than this prints it all the time. */
const MOST_REPEATED = 3;

/** What the looks at a suspect have shown since the first question of its dance: answers and progress. */
export class AnswerWatch {
  readonly #dance: Dance;
  readonly #lines = new SeenLines();
  readonly #beside = new SeenLines();
  #files: Record<string, number>;
  /** The first look after a restart: what is new then has come over a while, not in one burst. */
  #isFirstLook: boolean;

  constructor(dance: Dance, attempts: number) {
    this.#dance = dance;
    this.#files = dance.files;
    this.#isFirstLook = dance.attempts.length > 0;
    this.#lines.add(dance.screen_before);
    this.#lines.add(dance.screen_last);
    this.#beside.add(dance.beside_last ?? []);
    for (const attempt of dance.attempts) this.addQuestion(questionOf(dance, attempt, attempts));
  }

  /** What is there before anything is typed is not new. */
  start(look: There): void {
    if (this.#dance.attempts.length === 0)
      this.#dance.screen_before = look.screen.slice(-KEPT_LINES);
    this.#lines.add(look.screen);
    this.#beside.add(look.beside ?? []);
    this.#remember(look);
  }

  addQuestion(question: Question): void {
    this.#lines.addQuestion(question);
    this.#beside.addQuestion(question);
  }

  /** Whether it answered. What else is new is recorded, unless it may be a mere reaction. */
  record(look: There, attempt: Attempt, now: number): boolean {
    const nonces = this.#nonces();
    const said = look.said ?? look.screen;
    const fresh = this.#lines.take(said);
    const besides = this.#beside.take(look.beside ?? []);
    const isAsked = this.#dance.attempts.some(({ asked_at }) => asked_at !== null);
    const isAnswered =
      (isAsked && answerIn(besides, nonces) !== null) ||
      (isAsked && (answerIn(fresh, nonces) !== null || this.#lines.hasCertainAnswer(said))) ||
      look.answers.some((one) => nonces.includes(one));
    const reply = isAsked ? fresh.find((line) => isReply(line, look)) : undefined;
    if (reply !== undefined) attempt.reply ??= reply.text;
    this.#noteBursts(look, [fresh, besides], attempt, now);
    this.#remember(look);
    this.#isFirstLook = false;
    return isAnswered;
  }

  /** The word, though the same line had been there before the question: only if it was not said all the time. */
  repeatsAnswer(look: There): boolean {
    if (!this.#dance.attempts.some(({ asked_at }) => asked_at !== null)) return false;
    const found = this.#lines.repeatedAnswers(look.said ?? look.screen);
    return found.length > 0 && found.length <= MOST_REPEATED;
  }

  /** Output that keeps coming, in all attempts together. */
  hasProgress(): boolean {
    const spread = Math.min(...this.#dance.attempts.map(({ timeout_ms }) => timeout_ms)) / 10;
    return isProgress(this.bursts(), spread);
  }

  bursts(): Burst[] {
    return this.#dance.attempts.flatMap((attempt) => attempt.bursts);
  }

  #nonces(): string[] {
    return this.#dance.attempts.map(({ nonce }) => nonce);
  }

  #noteBursts(
    look: There,
    [screen = [], beside = []]: readonly OwnLine[][],
    attempt: Attempt,
    now: number,
  ): void {
    const at = new Date(now).toISOString();
    const bursts: Burst[] = [];
    const terminals = [
      { source: "screen", fresh: screen },
      { source: "another pane", fresh: beside },
    ];
    for (const { source, fresh } of terminals) {
      if (fresh.length === 0) continue;
      const what = fresh.slice(0, FIRST_LINES).map(({ text }) => text);
      bursts.push({ at, source, what: what.join("\n") });
    }
    for (const [path, size] of Object.entries(look.files)) {
      const grown = size - (this.#files[path] ?? 0);
      if (grown > 0) bursts.push({ at, source: path, what: `${grown} bytes more` });
    }
    const began = attempt.began_at ?? attempt.asked_at;
    if (isReaction(attempt, now) || attempt.bursts.length >= KEPT_BURSTS) return;
    if (this.#isFirstLook && bursts.length > 0 && began !== null) {
      bursts.unshift({ ...(bursts[0] as Burst), at: began });
    }
    attempt.bursts.push(...bursts);
  }

  #remember(look: There): void {
    this.#dance.screen_last = look.screen.slice(-KEPT_LINES);
    this.#dance.beside_last = (look.beside ?? []).slice(-KEPT_BESIDE);
    this.#files = look.files;
    this.#dance.files = look.files;
  }
}

/** Of a known agent: words of its model, not the decoration of its screen. */
function isReply(line: OwnLine, { speaks }: There): boolean {
  return isSaid(line) && (speaks === undefined || speaks.test(line.own));
}

/** A time before the question means that the clock was set back: then it is no reaction. */
function isReaction(attempt: Attempt, now: number): boolean {
  const began = attempt.began_at ?? attempt.asked_at;
  const since = began === null ? Number.NaN : Date.parse(began);
  if (Number.isNaN(since)) return true;
  return now >= since && now - since < Math.min(REACTS_WITHIN_MS, attempt.timeout_ms / 10);
}

/** Less than this is housekeeping: a server that waits, a timer. */
const LEAST_CPU_SHARE = 0.01;
const LEAST_CPU_MS = 50;
const LEAST_IO = 16 * 1024;

/**
 * What the processes below an agent did between two samples, in words; null if that is nothing to
 * speak of. One that has run for longer than `patienceMs` does not count: a tool call that takes
 * that long may hang itself.
 */
export function workSince(
  before: readonly WorkSample[],
  now: readonly WorkSample[],
  elapsedMs: number,
  patienceMs: number,
): string | null {
  const known = new Map(before.map((one) => [keyOf(one), one]));
  const used = now
    .filter(({ age_ms }) => age_ms <= patienceMs)
    .map((one) => {
      const was = known.get(keyOf(one));
      const cpu = one.cpu_ms - (was?.cpu_ms ?? 0);
      return { command: one.command, pid: one.pid, cpu, io: one.io - (was?.io ?? 0) };
    });
  const cpu = used.reduce((sum, one) => sum + Math.max(0, one.cpu), 0);
  const io = used.reduce((sum, one) => sum + Math.max(0, one.io), 0);
  const isCpu = cpu >= LEAST_CPU_MS && cpu >= LEAST_CPU_SHARE * elapsedMs;
  if (!isCpu && io < LEAST_IO) return null;
  const most = used.sort((a, b) => b.cpu - a.cpu || b.io - a.io)[0];
  const mostBy = most === undefined ? "" : `, most of it by pid ${most.pid}: ${most.command}`;
  return `its children used ${(cpu / 1000).toFixed(1)} s of CPU and moved ${io} bytes${mostBy}`;
}

const keyOf = ({ pid, started }: WorkSample) => `${pid} ${started}`;
