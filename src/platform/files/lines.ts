import { fstatSync, readSync } from "node:fs";

const CHUNK_BYTES = 256 * 1024;

/** The lines of an open file between two offsets, with the offset behind each; a torn tail is left. */
export function* linesBetween(
  fd: number,
  from: number,
  to = Number.POSITIVE_INFINITY,
): Generator<{ text: string; end: number }> {
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(1, to - from)));
  // In pieces: a power cut may leave one line of a hundred megabytes.
  let rest: Buffer[] = [];
  let offset = from;
  let read = from;
  while (read < to) {
    const n = readSync(fd, chunk, 0, Math.min(chunk.length, to - read), read);
    if (n === 0) return;
    read += n;
    let data = chunk.subarray(0, n);
    for (let newline = data.indexOf(10); newline >= 0; newline = data.indexOf(10)) {
      const line = data.subarray(0, newline);
      const whole = rest.length === 0 ? line : Buffer.concat([...rest, line]);
      rest = [];
      offset += whole.length + 1;
      yield { text: whole.toString("utf8"), end: offset };
      data = data.subarray(newline + 1);
    }
    if (data.length > 0) rest.push(Buffer.from(data));
  }
}

/** The same lines, the last one first: what is asked for is mostly near the end of a long file. */
export function* linesBack(fd: number, to: number): Generator<string> {
  let read = Math.min(to, fstatSync(fd).size);
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(1, read)));
  // What follows the newline that was found last, in pieces; null: behind the last one, a torn tail.
  let rest: Buffer[] | null = null;
  while (read > 0) {
    const length = Math.min(chunk.length, read);
    read -= length;
    let data = chunk.subarray(0, readFully(fd, chunk, length, read));
    for (let newline = data.lastIndexOf(10); newline >= 0; newline = data.lastIndexOf(10)) {
      if (rest !== null) yield joined(data.subarray(newline + 1), rest);
      rest = [];
      data = data.subarray(0, newline);
    }
    if (rest !== null && data.length > 0) rest.push(Buffer.from(data));
  }
  if (rest !== null) yield joined(Buffer.alloc(0), rest);
}

/** `rest`: the later pieces, the last one first. */
function joined(first: Buffer, rest: Buffer[]): string {
  return rest.length === 0
    ? first.toString("utf8")
    : Buffer.concat([first, ...rest.reverse()]).toString("utf8");
}

function readFully(fd: number, into: Buffer, length: number, from: number): number {
  let done = 0;
  while (done < length) {
    const n = readSync(fd, into, done, length - done, from + done);
    if (n === 0) return done; // it has become shorter
    done += n;
  }
  return done;
}
