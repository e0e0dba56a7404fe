/** A line of a text: `to` is behind its last character, `next` behind its line end. */
export interface OrgLine {
  from: number;
  to: number;
  next: number;
}

/** LF and CRLF end a line, also mixed in one text; a byte order mark belongs to no line. */
export function linesOf(text: string): OrgLine[] {
  const lines: OrgLine[] = [];
  for (let from = text.startsWith("\ufeff") ? 1 : 0; from < text.length; ) {
    const feed = text.indexOf("\n", from);
    const next = feed === -1 ? text.length : feed + 1;
    let to = feed === -1 ? text.length : feed;
    if (feed > from && text.charCodeAt(feed - 1) === 13) to--;
    lines.push({ from, to, next });
    from = next;
  }
  return lines;
}

export function isBlank(char: string | undefined): boolean {
  return char === " " || char === "\t";
}

/** Without white space at both ends, as offsets. */
export function trimmed(text: string, from: number, to: number): [from: number, to: number] {
  let first = from;
  let last = to;
  while (first < last && isBlank(text[first])) first++;
  while (last > first && isBlank(text[last - 1])) last--;
  return [first, last];
}
