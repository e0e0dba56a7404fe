/** t.2 before t.10. A collator would be ten times slower, and the disk's clock has many ties. */
export function compareIds(a: string, b: string): number {
  if (a === b) return 0;
  let i = 0;
  const shortest = Math.min(a.length, b.length);
  while (i < shortest && a.charCodeAt(i) === b.charCodeAt(i)) i++;
  // Back to the begin of the number that differs.
  let start = i;
  while (start > 0 && isDigit(a.charCodeAt(start - 1))) start--;
  const x = digitsFrom(a, start);
  const y = digitsFrom(b, start);
  if (x > start && y > start && (x > i || y > i)) {
    const [m, n] = [trimmed(a, start, x), trimmed(b, start, y)];
    const byNumber = m.length - n.length || (m < n ? -1 : m > n ? 1 : 0);
    if (byNumber !== 0) return byNumber;
  }
  return a < b ? -1 : 1;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function digitsFrom(text: string, start: number): number {
  let end = start;
  while (end < text.length && isDigit(text.charCodeAt(end))) end++;
  return end;
}

function trimmed(text: string, start: number, end: number): string {
  let from = start;
  while (from < end - 1 && text.charCodeAt(from) === 48) from++;
  return text.slice(from, end);
}
