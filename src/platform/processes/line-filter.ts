const NEWLINE = 0x0a;

/** Leaves out the lines of a stream that begin with `prefix`; all others pass as they came. */
export function withoutLines(prefix: string): (chunk: Buffer) => Buffer {
  const wanted = Buffer.from(prefix);
  /** What is undecided: a line's beginning that is shorter than the prefix, and like it so far. */
  let held = Buffer.alloc(0);
  /** Of the line that is under way: null while it is undecided. */
  let isKept: boolean | null = null;
  return (chunk) => {
    const kept: Buffer[] = [];
    let bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    held = Buffer.alloc(0);
    while (bytes.length > 0) {
      if (isKept === null) {
        const length = Math.min(bytes.length, wanted.length);
        const isLike = bytes.compare(wanted, 0, length, 0, length) === 0;
        if (isLike && length < wanted.length) {
          held = Buffer.from(bytes);
          break;
        }
        isKept = !isLike;
      }
      const end = bytes.indexOf(NEWLINE);
      const line = end < 0 ? bytes : bytes.subarray(0, end + 1);
      if (isKept) kept.push(line);
      if (end >= 0) isKept = null;
      bytes = bytes.subarray(line.length);
    }
    return kept.length === 1 ? (kept[0] as Buffer) : Buffer.concat(kept);
  };
}
