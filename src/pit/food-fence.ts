/** A fenced block, by the indices of its first and last line. */
export interface Fence {
  open: number;
  close: number;
  indent: number;
  info: string;
}

/** Longer runs are ornaments. The limit also bounds how often a text is looked through. */
const LONGEST = 40;

/**
 * The fenced blocks of a text. One that is never closed is none: else a stray fence would swallow
 * the fields below it.
 */
export function findFences(lines: string[]): Fence[] {
  const fences: Fence[] = [];
  // A search that failed once fails from every later line too.
  const hopeless: Record<string, number> = {};
  for (let open = 0; open < lines.length; open++) {
    const mark = markOf(lines[open] ?? "");
    if (mark === null || mark.length >= (hopeless[mark.char] ?? LONGEST + 1)) continue;
    let close = open + 1;
    while (close < lines.length && !closes(lines[close] ?? "", mark)) close++;
    if (close === lines.length) {
      hopeless[mark.char] = mark.length;
      continue;
    }
    fences.push({ open, close, indent: indentOf(lines[open] ?? ""), info: mark.info });
    open = close;
  }
  return fences;
}

export function contentOf(lines: string[], fence: Fence): string {
  const inner = lines.slice(fence.open + 1, fence.close);
  return inner.map((line) => dedent(line, fence.indent)).join("\n");
}

/** In columns; a tab goes on to the next multiple of four. */
export function indentOf(line: string): number {
  let column = 0;
  for (const c of line) {
    if (c === " ") column++;
    else if (c === "\t") column += 4 - (column % 4);
    else break;
  }
  return column;
}

/** Without up to so many columns of white space. */
export function dedent(line: string, columns: number): string {
  let column = 0;
  let at = 0;
  while (column < columns && at < line.length) {
    if (line[at] === " ") column++;
    else if (line[at] === "\t") column += 4 - (column % 4);
    else break;
    at++;
  }
  return line.slice(at);
}

interface Mark {
  char: string;
  length: number;
  info: string;
}

function markOf(line: string): Mark | null {
  const text = line.trim();
  const run = /^(?:`{3,}|~{3,})/.exec(text)?.[0];
  if (run === undefined) return null;
  const info = text.slice(run.length).trim();
  const char = run.charAt(0);
  return char === "`" && info.includes("`") ? null : { char, length: run.length, info };
}

function closes(line: string, mark: Mark): boolean {
  const text = line.trim();
  return text.startsWith(mark.char.repeat(mark.length)) && markOf(text)?.info === "";
}
