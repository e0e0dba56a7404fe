/**
 * Reads JSON without losing anything that Python would keep: numbers stay as they were written (a
 * 64-bit id does not survive a double), and keys keep their order (JavaScript moves those that look
 * like numbers). NaN and Infinity are read as well, for Python writes them.
 */
export type JsonTree = null | boolean | string | JsonNumber | JsonTree[] | Map<string, JsonTree>;

export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Throws a SyntaxError that says where. */
export function readJson(text: string): JsonTree {
  const reader = new Reader(text);
  const value = reader.value();
  reader.end();
  return value;
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity)|NaN/y;
const WORDS: readonly [string, JsonTree][] = [
  ["null", null],
  ["true", true],
  ["false", false],
];

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): JsonTree {
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first === "{") return this.#object();
    if (first === "[") return this.#list();
    if (first === '"') return this.#string();
    for (const [word, value] of WORDS) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    const digits = this.#match(NUMBER);
    if (digits === "") throw this.#unexpected();
    return new JsonNumber(digits);
  }

  end(): void {
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected();
  }

  #object(): Map<string, JsonTree> {
    const members = new Map<string, JsonTree>();
    this.#at++;
    if (this.#takes("}")) return members;
    do {
      this.#skipSpace();
      if (this.#text[this.#at] !== '"') throw this.#unexpected();
      const key = this.#string();
      if (!this.#takes(":")) throw this.#unexpected();
      members.set(key, this.value());
    } while (this.#takes(","));
    if (!this.#takes("}")) throw this.#unexpected();
    return members;
  }

  #list(): JsonTree[] {
    const items: JsonTree[] = [];
    this.#at++;
    if (this.#takes("]")) return items;
    do items.push(this.value());
    while (this.#takes(","));
    if (!this.#takes("]")) throw this.#unexpected();
    return items;
  }

  #string(): string {
    const start = this.#at++;
    for (;;) {
      const quote = this.#text.indexOf('"', this.#at);
      if (quote < 0) throw this.#unexpected();
      this.#at = quote + 1;
      let backslashes = 0;
      while (this.#text[quote - 1 - backslashes] === "\\") backslashes++;
      if (backslashes % 2 === 0) return JSON.parse(this.#text.slice(start, this.#at)) as string;
    }
  }

  #takes(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #skipSpace(): void {
    this.#match(SPACE);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [""];
    this.#at += found.length;
    return found;
  }

  #unexpected(): SyntaxError {
    const what = this.#at < this.#text.length ? `unexpected ${this.#text[this.#at]}` : "cut short";
    return new SyntaxError(`${what} at character ${Math.min(this.#at, this.#text.length)}`);
  }
}
