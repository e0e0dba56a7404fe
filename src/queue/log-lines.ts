/** A longer line is shown in pieces: a log may have none of its own. */
const LONGEST = 8 * 1024;

/** Cuts the pieces of a log into lines, in bounded memory. A program that redraws a line ends it. */
export class LogLines {
  #rest = "";
  /** Since the rest was begun: a prompt, or a program that writes no line ends, is shown in the end. */
  #age = 0;

  push(text: string): string[] {
    this.#age = 0;
    const lines = (this.#rest + text).split(/\r?\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    const whole = lines.flatMap(pieces);
    if (this.#rest.length <= LONGEST) return whole;
    const parts = pieces(this.#rest);
    this.#rest = parts.pop() ?? "";
    return [...whole, ...parts];
  }

  /** Nothing came: after some of these calls, what has no line end is a line too. */
  quiet(most: number): string[] {
    return this.#rest !== "" && ++this.#age >= most ? this.flush() : [];
  }

  flush(): string[] {
    const rest = this.#rest.replace(/\r$/, "");
    this.#rest = "";
    return rest === "" ? [] : [rest];
  }
}

function pieces(line: string): string[] {
  if (line.length <= LONGEST) return [line];
  const parts: string[] = [];
  for (let from = 0; from < line.length; ) {
    let to = Math.min(line.length, from + LONGEST);
    // Not within a character.
    if (/[\ud800-\udbff]/.test(line.charAt(to - 1)) && to < line.length) to--;
    parts.push(line.slice(from, to));
    from = to;
  }
  return parts;
}
