import { VivError } from "../../base/errors.ts";

/** A byte order mark is no part of the first one; in others it is a character. */
const FIRST_LINE = new TextDecoder("utf-8", { fatal: true });
const LATER_LINE = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Lines of a byte stream, without loading it. The last one needs no line break. With other characters in the
 * place of wrong bytes, a task would not be the one that was given: each line is decoded whole, by itself.
 */
export async function* linesOf(bytes: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  let rest: Uint8Array[] = [];
  let size = 0;
  let count = 0;
  const decoded = (end: Uint8Array) => {
    const line = rest.length === 0 ? end : Buffer.concat([...rest, end]);
    rest = [];
    size = 0;
    count++;
    try {
      return (count === 1 ? FIRST_LINE : LATER_LINE).decode(line);
    } catch {
      throw new VivError("INVALID", `line ${count}: it is not UTF-8.`, { line: count });
    }
  };
  for await (const given of bytes) {
    const chunk = typeof given === "string" ? Buffer.from(given) : given;
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield decoded(chunk.subarray(from, end));
      from = end + 1;
    }
    if (from === chunk.length) continue;
    rest.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > 64 * 1024 * 1024) {
      throw new VivError("INVALID", "a line of over 64 MiB; each line must be one task.");
    }
  }
  if (size > 0) yield decoded(new Uint8Array());
}
