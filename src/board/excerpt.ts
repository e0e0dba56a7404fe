/**
 * The part of a board that matters to one task: what stands before the first heading, the headings
 * that may have its name, and the first with properties (new ones are written like those). To read
 * only that, instead of thousands of tasks, is most of the speed of a claim.
 */
export interface Excerpt {
  text: string;
  /** All bytes, when what belongs to the heading at `offset` was changed in the excerpt. */
  restore(changed: string, offset: number): Buffer;
}

/** Marks of a conflict, and letters that become ASCII when they are made small. */
const UNUSUAL = ["<<<<<<<", ">>>>>>>", "|||||||", "\xe2\x84\xaa", "\xc4\xb0"];

/** Null where the look of a line does not tell what it is, so that all must be read. */
export function excerptFor(bytes: Buffer, slug: string): Excerpt | null {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/i.test(slug) || /^line-\d+$/.test(slug)) return null;
  const text = bytes.toString("latin1"); // a character for each byte, so that offsets are the same
  const first = text.startsWith("*") ? 0 : headingFrom(text, 0);
  if (first === -1 || text.includes("#+", first)) return null; // blocks, or further states
  if (UNUSUAL.some((mark) => text.includes(mark))) return null;
  const starts = new Set<number>();
  const take = (at: number) => {
    if (at >= first) starts.add(headingAround(text, at));
  };
  for (let at = text.indexOf(slug); at !== -1; at = text.indexOf(slug, at + 1)) take(at);
  // In a title, something that is no letter and no digit stands between the words.
  const words = new RegExp(slug.split("-").join("[^a-z0-9\\n]+"), "gi");
  for (const match of text.matchAll(words)) take(match.index);
  take(/:properties:/i.exec(text)?.index ?? -1);
  const pieces = [...starts]
    .sort((a, b) => a - b)
    .map((from): [number, number] => [from, headingFrom(text, from)])
    .map(([from, to]): [number, number] => [from, to === -1 ? bytes.length : to]);
  return excerptOf(bytes, [[0, first], ...pieces]);
}

/** The next one behind an offset. */
function headingFrom(text: string, from: number): number {
  for (let at = text.indexOf("\n*", from); at !== -1; at = text.indexOf("\n*", at + 1)) {
    if (isHeading(text, at + 1)) return at + 1;
  }
  return -1;
}

/** The one to which an offset belongs. */
function headingAround(text: string, offset: number): number {
  for (let at = text.lastIndexOf("\n*", offset); at !== -1; at = text.lastIndexOf("\n*", at - 1)) {
    if (isHeading(text, at + 1)) return at + 1;
    if (at === 0) break;
  }
  return 0;
}

function isHeading(text: string, at: number): boolean {
  let end = at;
  while (text.charCodeAt(end) === 42) end++;
  return end > at && text.charCodeAt(end) === 32;
}

function excerptOf(bytes: Buffer, pieces: readonly [number, number][]): Excerpt {
  const parts = pieces.map(([from, to]) => bytes.toString("utf8", from, to));
  const text = parts.join("");
  return {
    text,
    restore: (changed, offset) => {
      let at = 0;
      for (const [i, [from, to]] of pieces.entries()) {
        const end = at + (parts[i] as string).length;
        if (offset < end) {
          const piece = changed.slice(at, changed.length - (text.length - end));
          return Buffer.concat([bytes.subarray(0, from), Buffer.from(piece), bytes.subarray(to)]);
        }
        at = end;
      }
      throw new RangeError(`${offset} is behind the end of the excerpt`);
    },
  };
}
