import type { Finished } from "../platform/processes/handlers.ts";
import { LineSplitter } from "../platform/processes/line-splitter.ts";
import type { Engine, EngineRequest, EngineResult, Step, StreamReader, Waiting } from "./engine.ts";

/** A tool's result may hold a whole file; what is longer than this is no event worth its memory. */
const LONGEST_LINE_BYTES = 16 * 1024 * 1024;
const LONGEST_ERROR_BYTES = 64 * 1024;
/** Of one run. A stream of a million lines must not make a ledger of a million lines. */
const MOST_STEPS = 2_000;

/** `isOneOfMany`: it has only usage, and there are too many to record each. */
export type OnStep = (step: Step, isOneOfMany: boolean) => void;

/**
 * One run of an engine: its stdout goes in as bytes, its steps come out as they happen, and at its
 * end the result.
 */
export class EngineOutput {
  readonly #reader: StreamReader;
  readonly #lines: LineSplitter;
  readonly #errors: LineSplitter;
  readonly #onStep: OnStep;
  readonly #onSession: (session: string) => void;
  #session: string | null = null;
  #steps = 0;

  constructor(
    engine: Engine,
    request: EngineRequest,
    onStep: OnStep,
    onSession: (session: string) => void,
  ) {
    this.#onSession = onSession;
    this.#reader = engine.reader(request);
    this.#onStep = onStep;
    this.#lines = new LineSplitter(LONGEST_LINE_BYTES, {
      line: (text) => {
        for (const step of this.#reader.line(text)) this.#emit(step);
        this.#emitSession();
      },
      tooLong: (bytes) => {
        this.#emit({ kind: "notice", text: `a line of ${bytes} bytes was passed over` });
      },
    });
    this.#errors = new LineSplitter(LONGEST_ERROR_BYTES, {
      line: (text) => this.#reader.stderr?.(text),
      tooLong: () => {}, // it is in the log
    });
  }

  /** What it waits for just now. */
  get waitsFor(): Waiting | null {
    return this.#reader.waitsFor ?? null;
  }

  /** It makes no further step. */
  get isOver(): boolean {
    return this.#reader.isOver ?? false;
  }

  readonly onStderr = (chunk: Buffer): void => {
    if (this.#reader.stderr) this.#errors.push(chunk);
  };

  #emitSession(): void {
    const { session } = this.#reader;
    if (session === null || session === this.#session) return;
    this.#session = session;
    this.#onSession(session);
  }

  /** One line of the vendor's own files about the session. */
  readonly onLogLine = (text: string, isPast: boolean): void => {
    for (const step of this.#reader.logLine?.(text, isPast) ?? []) this.#emit(step);
  };

  readonly onStdout = (chunk: Buffer): void => {
    // Cutting lines that are not read is the dearest part of an endless stream.
    if (!this.#reader.isFull) this.#lines.push(chunk);
  };

  end(finished: Finished): EngineResult {
    this.#lines.close();
    this.#errors.close();
    const { exit, signal, tail, cause, error } = finished;
    const wasEnded = cause === "timed_out" || cause === "stopped";
    return this.#reader.end({ exit, signal, stderr: error ?? tail, wasEnded });
  }

  /** Usage is always emitted: the budget depends on it. */
  #emit(step: Step): void {
    this.#steps++;
    if (this.#steps <= MOST_STEPS) this.#onStep(step, false);
    else if (this.#steps === MOST_STEPS + 1) {
      const text = `more than ${MOST_STEPS} steps: from here on only what they use is recorded`;
      const { kind: _, tool: _tool, target: _target, text: _text, ...used } = step;
      this.#onStep({ kind: "notice", text, ...used }, false);
    } else if (step.usage) this.#onStep({ kind: "notice", usage: step.usage }, true);
  }
}
