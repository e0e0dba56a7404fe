import { readSync } from "node:fs";

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
