import type { Readable } from "node:stream";

/** How much of a stream is read at most in each span of time. */
export interface Pace {
  bytes: number;
  everyMs: number;
}

/** Calls back once after so many milliseconds; returns what calls that off. */
type After = (ms: number, act: () => void) => () => void;

/**
 * Reads a stream no faster than its pace; a faster writer blocks. Without it, a program that writes
 * without end takes all the time of this process, and of everything else that it supervises.
 *
 * Returns a function that lifts the limit for the rest of the stream.
 */
export function readPaced(
  stream: Readable,
  pace: Pace | undefined,
  onChunk: (chunk: Buffer) => void,
  after: After = timeout,
): () => void {
  let left = pace?.bytes ?? Number.POSITIVE_INFINITY;
  let cancel: (() => void) | undefined;
  const goOn = () => {
    cancel = undefined;
    left = pace?.bytes ?? left;
    stream.resume();
  };
  stream.on("data", (chunk: Buffer) => {
    onChunk(chunk);
    left -= chunk.length;
    if (left > 0 || pace === undefined || cancel) return;
    stream.pause();
    cancel = after(pace.everyMs, goOn);
  });
  return () => {
    cancel?.();
    left = Number.POSITIVE_INFINITY;
    if (cancel) stream.resume();
    cancel = undefined;
  };
}

const timeout: After = (ms, act) => {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
};
