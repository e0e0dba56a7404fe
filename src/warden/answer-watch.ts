import { counted } from "../base/text.ts";
import { nameOf } from "../platform/processes/end-processes.ts";
import { answerIn, isProgress, isSaid, type OwnLine, SeenLines } from "./answer.ts";
import type { Attempt, Burst, Dance, WorkSample } from "./dance.ts";
import { type Question, questionOf } from "./question.ts";
import type { There } from "./suspects/suspect.ts";

const FIRST_LINES = 3;
const KEPT_LINES = 200;
const KEPT_BESIDE = 1_000;
const KEPT_BURSTS = 50;
/** A program reacts to typing within this, or a tenth of its time. */
const REACTS_WITHIN_MS = 1_000;
/** A program that repeats the word more often than this prints it all the time. */
const MOST_REPEATED = 3;

/** Answers and progress that the looks at a suspect have shown since the first question of its dance. */
export class AnswerWatch {
  readonly #dance: Dance;
  readonly #lines = new SeenLines();
  readonly #beside = new SeenLines();
  #files: Record<string, number>;
  /** New output at the first look after a restart has come over a while, not in one burst. */
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

  /** Before anything is typed. */
  start(look: There): void {
    const dance = this.#dance;
    if (dance.attempts.length === 0) dance.screen_before = look.screen.slice(-KEPT_LINES);
    this.#lines.add(look.screen);
    this.#beside.add(look.beside ?? []);
    this.#remember(look);
  }

  addQuestion(question: Question): void {
    this.#lines.addQuestion(question);
    this.#beside.addQuestion(question);
  }

  /** Whether it answered. Other new output is recorded, unless it may be a mere reaction. */
  record(look: There, attempt: Attempt, now: number): boolean {
    const nonces = this.#dance.attempts.map(({ nonce }) => nonce);
    const said = look.said ?? look.screen;
    const fresh = this.#lines.take(said);
    const besides = this.#beside.take(look.beside ?? []);
    const isAsked = this.#isAsked();
    const isAnswered =
      (isAsked && answerIn([...fresh, ...besides], nonces) !== null) ||
      (isAsked && this.#lines.hasCertainAnswer(said)) ||
      look.answers.some((one) => nonces.includes(one));
    const reply = isAsked ? fresh.find((line) => isReply(line, look)) : undefined;
    if (reply !== undefined) attempt.reply ??= reply.text;
    this.#noteBursts(look, { screen: fresh, "another pane": besides }, attempt, now);
    this.#remember(look);
    this.#isFirstLook = false;
    return isAnswered;
  }

  /** ALIVE, though the screen showed the same line before the question: only if it was not said all the time. */
  repeatsAnswer(look: There): boolean {
    if (!this.#isAsked()) return false;
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

  #isAsked(): boolean {
    return this.#dance.attempts.some(({ asked_at }) => asked_at !== null);
  }

  #noteBursts(
    look: There,
    terminals: Record<string, OwnLine[]>,
    attempt: Attempt,
    now: number,
  ): void {
    const at = new Date(now).toISOString();
    const bursts: Burst[] = [];
    for (const [source, fresh] of Object.entries(terminals)) {
      if (fresh.length === 0) continue;
      const what = fresh.slice(0, FIRST_LINES).map(({ text }) => text);
      bursts.push({ at, source, what: what.join("\n") });
    }
    for (const [path, size] of Object.entries(look.files)) {
      const grown = size - (this.#files[path] ?? 0);
      if (grown > 0) bursts.push({ at, source: path, what: `${counted(grown, "byte")} more` });
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

/** With a time before the question the clock was set back: then it is no reaction. */
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
 * The work of the processes below an agent between two samples, in words; null if it is too little.
 * A process older than `patienceMs` does not count: a tool call that takes so long may hang itself.
 */
export function workSince(
  before: readonly WorkSample[],
  now: readonly WorkSample[],
  elapsedMs: number,
  patienceMs: number,
): string | null {
  const known = new Map(before.map((one) => [nameOf(one), one]));
  const used = now
    .filter(({ age_ms }) => age_ms <= patienceMs)
    .map((one) => {
      const was = known.get(nameOf(one));
      const cpu = one.cpu_ms - (was?.cpu_ms ?? 0);
      return { command: one.command, pid: one.pid, cpu, io: one.io - (was?.io ?? 0) };
    });
  const cpu = used.reduce((sum, one) => sum + Math.max(0, one.cpu), 0);
  const io = used.reduce((sum, one) => sum + Math.max(0, one.io), 0);
  const isCpu = cpu >= LEAST_CPU_MS && cpu >= LEAST_CPU_SHARE * elapsedMs;
  if (!isCpu && io < LEAST_IO) return null;
  const most = used.sort((a, b) => b.cpu - a.cpu || b.io - a.io)[0];
  const mostBy = most === undefined ? "" : `, most of it by pid ${most.pid}: ${most.command}`;
  return `its children used ${(cpu / 1000).toFixed(1)} s of CPU and moved ${counted(io, "byte")}${mostBy}`;
}
