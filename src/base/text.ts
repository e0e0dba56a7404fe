/** The last lines that say something, without colours, cursor movements and indentation. */
export function lastLines(text: string, count: number): string[] {
  return indentedLines(text, count).map((line) => line.trimStart().replace(/\t+/g, " "));
}

/** The same, indented as they were. */
export function indentedLines(text: string, count: number): string[] {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
      .replace(/\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(\u0007|\u001b\\)/g, "")
      .split(/[\r\n]+/)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
      .map((line) => line.replace(/[\u0000-\u0008\u000b-\u001f\u007f]+/g, " ").trimEnd())
      .filter((line) => line !== "")
      .slice(-count)
  );
}

/** Text of others on one line: without control characters and invisible ones, cut to `most`. */
export function oneLine(text: string, most: number): string {
  return cut(text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim(), most);
}

/** At most so many UTF-16 units, without half a character at the end. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** With a full stop, unless it ends with a question or has one. */
export function sentence(text: string): string {
  return /[.?!…]$/.test(text) ? text : `${text}.`;
}

/** For HTML, also in attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" },
};

/** A word as it is typed at a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** `viv approve ID    # or: viv reject ID` are two lines: a comment that is pasted into zsh is none. */
export function alternatives(command: string): string[] {
  return command.split(/ +# or: /);
}

/** User text for a message: quoted, on one line, cut to a recognisable length. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}

/** A Markdown fence that `content` does not close. */
export function fenceFor(content: string): string {
  return "`".repeat(Math.max(3, longestBackticks(content) + 1));
}

/** A Markdown code span that `line` does not end. */
export function codeSpan(line: string): string {
  const ticks = "`".repeat(longestBackticks(line) + 1);
  const room = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${ticks}${room}${line}${room}${ticks}`;
}

/** The length of its longest run of backticks. */
export function longestBackticks(content: string): number {
  let longest = 0;
  for (const [run] of content.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/** `1 task`, `2 tasks`, `2 processes`, `2 tries`; `show` writes the number. */
export function counted(
  count: number,
  thing: string,
  show: (count: number) => string = String,
): string {
  return `${show(count)} ${plural(count, thing)}`;
}

/** `process` of one, `processes` of none or several. */
export function plural(count: number, thing: string): string {
  if (count === 1) return thing;
  if (/[^aeiou]y$/.test(thing)) return `${thing.slice(0, -1)}ies`;
  return `${thing}${/(s|sh|ch|x)$/.test(thing) ? "es" : "s"}`;
}

/** `process 7`, `processes 7, 8`. */
export function listed(thing: string, items: readonly (string | number)[]): string {
  return `${plural(items.length, thing)} ${items.join(", ")}`;
}
