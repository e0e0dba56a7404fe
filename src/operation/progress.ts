import { formatCount } from "../base/amount.ts";
import { formatDuration } from "../base/duration.ts";
import type { Io } from "./io.ts";
import { CLEAR_LINE, clip, isUtf8 } from "./term.ts";

/** How far the work is. */
export interface Progressed {
  done: number;
  /** Unknown where nothing tells how much there is. It may grow. */
  total?: number;
  /** The part that is done, from 0 to 1, where `done` and `total` do not tell it. */
  part?: number;
  /** More about it, after the numbers. */
  note?: string;
}

interface Sample {
  at: number;
  done: number;
  part: number | null;
}

/** Rates are those of the last seconds: an average over hours tells neither a stall nor a spurt. */
const WINDOW_MS = 15_000;
const SAMPLE_MS = 250;
/** Before, a rate is a guess. */
const LEAST_MS = 1_000;
const BAR_WIDTH = 20;

/** What a bar shows: one line, without the bar's own place on the screen. Pure. */
export class ProgressLine {
  readonly #verb: string;
  readonly #isUtf8: boolean;
  readonly #samples: Sample[] = [];
  #now: Progressed = { done: 0 };

  constructor(verb: string, isUtf8: boolean) {
    this.#verb = verb;
    this.#isUtf8 = isUtf8;
  }

  update(at: number, progressed: Progressed): void {
    this.#now = progressed;
    const last = this.#samples.at(-1);
    if (last !== undefined && at - last.at < SAMPLE_MS) return;
    this.#samples.push({ at, done: progressed.done, part: partOf(progressed) });
    // One that is older stays, so that there always is a window.
    while ((this.#samples[1]?.at ?? at) < at - WINDOW_MS) this.#samples.shift();
  }

  text(at: number): string {
    const { done, total, note } = this.#now;
    const part = partOf(this.#now);
    const of = total === undefined ? "" : ` of ${formatCount(total)}`;
    const parts = [
      ...(part === null ? [] : [this.#bar(part)]),
      `${this.#verb} ${formatCount(done)}${of}`,
      ...this.#speed(at, part),
      ...(note === undefined ? [] : [note]),
    ];
    return parts.join("  ");
  }

  #bar(part: number): string {
    const [full, empty] = this.#isUtf8 ? ["━", "·"] : ["#", "-"];
    const filled = Math.floor(BAR_WIDTH * part);
    return full.repeat(filled) + empty.repeat(BAR_WIDTH - filled);
  }

  /** The rate, and what is left at that rate. */
  #speed(at: number, part: number | null): string[] {
    const [first] = this.#samples;
    const ms = first === undefined ? 0 : at - first.at;
    if (first === undefined || ms < LEAST_MS) return [];
    const rate = ((this.#now.done - first.done) * 1000) / ms;
    const speed = [rateInWords(rate)];
    if (part === null || part >= 1 || first.part === null) return speed;
    // Of the part, not of the number: where more comes than is done there is no end to tell.
    const partsPerMs = (part - first.part) / ms;
    if (partsPerMs <= 0) return speed;
    return [...speed, `${formatDuration((1 - part) / partsPerMs)} left`];
  }
}

function partOf({ done, total, part }: Progressed): number | null {
  if (part !== undefined) return Math.min(1, Math.max(0, part));
  if (total === undefined) return null;
  return total === 0 ? 1 : Math.min(1, done / total);
}

function rateInWords(perSecond: number): string {
  if (perSecond >= 10) return `${formatCount(perSecond)}/s`;
  if (perSecond >= 1) return `${perSecond.toFixed(1)}/s`;
  return `${Number((perSecond * 60).toFixed(1))}/min`;
}

const FIRST_MS = 500;
const REDRAW_MS = 100;
/** Without news too: a rate falls while nothing happens. */
const TICK_MS = 1_000;

/**
 * A line on stderr that is drawn again and again in its place; only on a terminal that can do that,
 * and only once the work takes a while. Other lines scroll above it: see `aside`.
 */
export class Progress {
  readonly #io: Io;
  readonly #line: ProgressLine;
  readonly #start = performance.now();
  readonly #isPossible: boolean;
  #timer: NodeJS.Timeout | undefined;
  #drawnAt = 0;
  #shown = false;
  count = 0;

  constructor(io: Io, verb: string) {
    this.#io = io;
    this.#line = new ProgressLine(verb, isUtf8(io.env));
    this.#isPossible = io.stderr.isTTY === true && io.env.TERM !== "dumb";
  }

  update(progressed: Progressed): void {
    this.count = progressed.done;
    if (!this.#isPossible) return;
    const now = performance.now();
    this.#line.update(now, progressed);
    const isDue = now - this.#start >= FIRST_MS && now - this.#drawnAt >= REDRAW_MS;
    if (isDue) this.#draw(now);
    else this.#drawIn(REDRAW_MS);
  }

  /** Makes room for a line that is written next. */
  aside(): void {
    if (!this.#shown) return;
    this.#clear();
    this.#drawIn(0);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#clear();
  }

  #clear(): void {
    if (this.#shown) this.#io.stderr.write(CLEAR_LINE);
    this.#shown = false;
  }

  #draw(now: number): void {
    this.#drawnAt = now;
    const { stderr } = this.#io;
    // The last column stays free: a full line would begin the next one.
    const text = clip(this.#line.text(now), (stderr.columns || 80) - 1);
    stderr.write(`${CLEAR_LINE}${text}`);
    this.#shown = true;
    this.#drawIn(TICK_MS);
  }

  #drawIn(ms: number): void {
    clearTimeout(this.#timer);
    const wait = Math.max(ms, this.#start + FIRST_MS - performance.now());
    this.#timer = setTimeout(() => this.#draw(performance.now()), wait);
    this.#timer.unref();
  }
}
