import { closeSync, constants, existsSync, mkdirSync, openSync, readSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Timers } from "../platform/processes/children.ts";
import { LineSplitter } from "../platform/processes/line-splitter.ts";

/** A file that a run appends to, and that is read meanwhile. */
export interface StepsFile {
  readonly path: string;
  /** What was added since the last time, but no more than that; empty when there is nothing. */
  read(most: number): Buffer;
  /** It is removed. */
  close(): void;
}

/**
 * Empty, and ours: whatever the run puts in its place (a pipe, a link, a folder) is not looked at, because what
 * is read is the file that was opened here.
 */
export function openStepsFile(path: string): StepsFile {
  const folder = dirname(path);
  // Only the last folder: a state folder that was removed is not made again.
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
  rmSync(path, { recursive: true, force: true });
  const { O_RDONLY, O_CREAT, O_EXCL } = constants;
  const fd = openSync(path, O_RDONLY | O_CREAT | O_EXCL, 0o600);
  let place = 0;
  return {
    path,
    read: (most) => {
      const buffer = Buffer.alloc(most);
      const count = readSync(fd, buffer, 0, most, place);
      place += count;
      return buffer.subarray(0, count);
    },
    close: () => {
      closeSync(fd);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/**
 * Steps that a command of one's own reports in the file `$VIV_STEPS`: one JSON object in each line,
 * `{"tool":…,"target":…}`. It is read while the run goes on, a limited part at a time; agent and time are set
 * by the reader. Nothing in that file can end the run.
 */
export interface FeedTo {
  onStep(step: { tool: string; target: string }): void;
  /** At most once for each kind of problem. */
  warn(message: string): void;
}

const LOOK_EVERY_MS = 250;
const AT_A_TIME_BYTES = 16 * 1024;
const LOOKS_AT_THE_END = 16;
const LONGEST_LINE_BYTES = 4 * 1024;
const MOST_STEPS = 2_000;
const LONGEST_TOOL = 100;
const LONGEST_TARGET = 500;

export class StepFeed {
  readonly #file: StepsFile;
  readonly #to: FeedTo;
  readonly #lines: LineSplitter;
  #cancel: () => void = () => {};
  #steps = 0;
  #isWarned = false;

  constructor(file: StepsFile, timers: Timers, to: FeedTo) {
    this.#file = file;
    this.#to = to;
    this.#lines = new LineSplitter(LONGEST_LINE_BYTES, {
      line: (text) => this.#hear(text),
      tooLong: () => this.#passOver("is too long"),
    });
    const lookLater = () => {
      this.#cancel = timers.after(LOOK_EVERY_MS, () => {
        this.#look();
        if (this.#steps <= MOST_STEPS) lookLater();
      });
    };
    lookLater();
  }

  /** The run is over: what it wrote last is read, up to a limit, and the file goes. */
  end(): void {
    this.#cancel();
    for (let i = 0; i < LOOKS_AT_THE_END && this.#look(); i++);
    if (this.#steps <= MOST_STEPS) this.#lines.close();
    try {
      this.#file.close();
    } catch {
      // It is emptied before the next run.
    }
  }

  /** Whether there was anything. */
  #look(): boolean {
    if (this.#steps > MOST_STEPS) return false;
    try {
      const chunk = this.#file.read(AT_A_TIME_BYTES);
      this.#lines.push(chunk);
      return chunk.length > 0;
    } catch (error) {
      this.#passOver(`cannot be read: ${(error as Error).message}`);
      return false;
    }
  }

  #hear(text: string): void {
    if (text.trim() === "") return;
    const step = stepFrom(text);
    if (step === null) {
      this.#passOver('is not like {"tool":"fetch","target":"…"}');
      return;
    }
    this.#steps++;
    if (this.#steps <= MOST_STEPS) this.#to.onStep(step);
    else if (this.#steps === MOST_STEPS + 1) {
      this.#to.warn(`it tells more than ${MOST_STEPS} steps; further ones are not recorded`);
    }
  }

  #passOver(why: string): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    this.#to.warn(`a line in its $VIV_STEPS ${why}; such lines are passed over`);
  }
}

function stepFrom(text: string): { tool: string; target: string } | null {
  try {
    const { tool, target = "" } = JSON.parse(text) as { tool?: unknown; target?: unknown };
    if (typeof tool !== "string" || tool.trim() === "" || typeof target !== "string") return null;
    return { tool: tool.slice(0, LONGEST_TOOL), target: target.slice(0, LONGEST_TARGET) };
  } catch {
    return null;
  }
}
