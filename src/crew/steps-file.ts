import { closeSync, constants, existsSync, mkdirSync, openSync, readSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Timers } from "../platform/processes/children.ts";
import { LineSplitter } from "../platform/processes/line-splitter.ts";

interface FeedTo {
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

/**
 * Steps that a command reports in the file `$VIV_STEPS`: one JSON object in each line,
 * `{"tool":…,"target":…}`. It is read while the run goes on, a limited part at a time; agent and time
 * are set by the reader. Nothing in that file can end the run, and only the file that was opened here
 * is read, whatever the run puts in its place (a pipe, a link, a folder).
 */
export class StepFeed {
  readonly #path: string;
  readonly #fd: number;
  readonly #to: FeedTo;
  readonly #lines: LineSplitter;
  #cancel: () => void = () => {};
  #place = 0;
  #steps = 0;
  #isWarned = false;

  constructor(path: string, timers: Timers, to: FeedTo) {
    this.#path = path;
    this.#to = to;
    const folder = dirname(path);
    // Only the last folder: a state folder that was removed is not made again.
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    rmSync(path, { recursive: true, force: true });
    const { O_RDONLY, O_CREAT, O_EXCL } = constants;
    this.#fd = openSync(path, O_RDONLY | O_CREAT | O_EXCL, 0o600);
    this.#lines = new LineSplitter(LONGEST_LINE_BYTES, {
      line: (text) => this.#read(text),
      tooLong: () => this.#skip("is too long"),
    });
    const lookLater = () => {
      this.#cancel = timers.after(LOOK_EVERY_MS, () => {
        this.#look();
        if (this.#steps <= MOST_STEPS) lookLater();
      });
    };
    lookLater();
  }

  /** The run is over: its last lines are read, up to a limit, and the file is removed. */
  end(): void {
    this.#cancel();
    for (let i = 0; i < LOOKS_AT_THE_END && this.#look(); i++);
    if (this.#steps <= MOST_STEPS) this.#lines.close();
    try {
      closeSync(this.#fd);
      rmSync(this.#path, { recursive: true, force: true });
    } catch {
      // It is removed before the next run.
    }
  }

  /** True when there was something to read. */
  #look(): boolean {
    if (this.#steps > MOST_STEPS) return false;
    try {
      const buffer = Buffer.alloc(AT_A_TIME_BYTES);
      const count = readSync(this.#fd, buffer, 0, buffer.length, this.#place);
      this.#place += count;
      this.#lines.push(buffer.subarray(0, count));
      return count > 0;
    } catch (error) {
      this.#skip(`cannot be read: ${(error as Error).message}`);
      return false;
    }
  }

  #read(text: string): void {
    if (text.trim() === "") return;
    const step = stepFrom(text);
    if (step === null) {
      this.#skip('is not like {"tool":"fetch","target":"…"}');
      return;
    }
    this.#steps++;
    if (this.#steps <= MOST_STEPS) this.#to.onStep(step);
    else if (this.#steps === MOST_STEPS + 1) {
      this.#to.warn(`it reports more than ${MOST_STEPS} steps; further ones are not recorded`);
    }
  }

  #skip(why: string): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    this.#to.warn(`a line in its $VIV_STEPS ${why}; such lines are skipped`);
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
