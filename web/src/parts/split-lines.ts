/** A line that is longer is shown as several: programs may write megabytes without a newline. */
const LONGEST = 1_000;

export function splitLines(text: string): string[] {
  const lines: string[] = [];
  for (const line of text.replace(/\n$/, "").split("\n")) {
    // Of a line that was written over, what stayed.
    const last = line.endsWith("\r") ? line.slice(0, -1) : line;
    const kept = last.slice(last.lastIndexOf("\r") + 1);
    if (kept.length <= LONGEST) lines.push(kept);
    else for (let at = 0; at < kept.length; at += LONGEST) lines.push(kept.slice(at, at + LONGEST));
  }
  return lines;
}
