/** The line of a key in a TOML text, and of the keys below it. */
export interface Place {
  line: number;
  readonly inside: Map<string, Place>;
}

/** The line of `path`, or of the nearest table around it that has one. */
export function lineOf(root: Place, path: readonly string[]): number {
  let place = root;
  for (const key of path) {
    const next = place.inside.get(key);
    if (next === undefined) break;
    place = next;
  }
  return place.line;
}

/**
 * The line of every key, which the parser does not give. The items of a list are keys "0", "1" and so
 * on. The text must be one that the parser accepts: the scan checks nothing again, but it ends
 * whatever the text is.
 */
export function placesOf(text: string): Place {
  return new Scanner(text).document();
}

/** A key has its own line; a table that is only implied has that of its first mention. */
function put(from: Place, keys: readonly string[], line: number): Place {
  let place = from;
  for (const key of keys) {
    let next = place.inside.get(key);
    if (next === undefined) {
      next = { line, inside: new Map() };
      place.inside.set(key, next);
    }
    place = next;
  }
  place.line = line;
  return place;
}

class Scanner {
  readonly #text: string;
  /** Of each list of tables. */
  readonly #lengths = new Map<Place, number>();
  #at = 0;
  #line = 1;
  #counted = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Place {
    const root: Place = { line: 1, inside: new Map() };
    let table = root;
    for (this.#skipVoid(); this.#at < this.#text.length; this.#skipVoid()) {
      if (this.#next() !== "[") {
        this.#pair(table);
        continue;
      }
      const line = this.#lineHere();
      const isItem = this.#skip(/\[+/y).length > 1;
      table = this.#header(root, this.#keys(), isItem, line);
      this.#skip(/\]+/y);
    }
    return root;
  }

  /** `[[a]]` is the next item of a list; `[a.b]` after it belongs to the last one. */
  #header(root: Place, keys: readonly string[], isItem: boolean, line: number): Place {
    const path: string[] = [];
    let place: Place | undefined = root;
    for (const [i, key] of keys.entries()) {
      path.push(key);
      place = place?.inside.get(key);
      const items = place && this.#lengths.get(place);
      if (items === undefined || i === keys.length - 1) continue;
      path.push(String(items - 1));
      place = place?.inside.get(String(items - 1));
    }
    if (!isItem) return put(root, path, line);
    const list = put(root, path, place?.line ?? line);
    const count = this.#lengths.get(list) ?? 0;
    this.#lengths.set(list, count + 1);
    return put(list, [String(count)], line);
  }

  #pair(table: Place): void {
    const line = this.#lineHere();
    const place = put(table, this.#keys(), line);
    this.#at++; // the =
    this.#skip(BLANKS);
    this.#value(place);
  }

  #value(place: Place): void {
    const first = this.#next();
    let count = 0;
    if (first === '"' || first === "'") this.#string();
    else if (first === "{") this.#items("}", () => this.#pair(place));
    else if (first === "[") {
      this.#items("]", () => this.#value(put(place, [String(count++)], this.#lineHere())));
    } else this.#skip(/[^,\]}#\n]+/y); // with blanks: a date may have one before its time
  }

  /** From the bracket that opens to behind the one that closes. */
  #items(end: string, item: () => void): void {
    do {
      this.#at++; // the bracket at first, then a comma
      this.#skipVoid();
      if (this.#next() === end) break;
      item();
      this.#skipVoid();
    } while (this.#next() === ",");
    this.#at++;
  }

  /** `a.b."c d"`, up to what follows it. */
  #keys(): string[] {
    const keys: string[] = [];
    do {
      this.#skip(/[ \t.]+/y);
      const first = this.#next();
      if (first === '"') keys.push(unescaped(this.#string()));
      else if (first === "'") keys.push(this.#string());
      else keys.push(this.#skip(/[\w-]+/y));
      this.#skip(BLANKS);
    } while (this.#next() === ".");
    return keys;
  }

  /** Skips a string and returns the text between its quotes. */
  #string(): string {
    const quote = this.#next();
    const fence = this.#text.startsWith(quote.repeat(3), this.#at) ? quote.repeat(3) : quote;
    this.#at += fence.length;
    const from = this.#at;
    while (this.#at < this.#text.length && !this.#text.startsWith(fence, this.#at)) {
      this.#at += quote === '"' && this.#next() === "\\" ? 2 : 1;
    }
    const inner = this.#text.slice(from, this.#at);
    this.#at += fence.length;
    // Quotes that end a long string stand before the three that close it.
    while (fence.length === 3 && this.#next() === quote) this.#at++;
    return inner;
  }

  #skipVoid(): void {
    while (this.#skip(/\s+/y) || this.#skip(/#[^\n]*/y));
  }

  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #next(): string {
    return this.#text.charAt(this.#at);
  }

  #lineHere(): number {
    for (; this.#counted < this.#at; this.#counted++) {
      if (this.#text.charCodeAt(this.#counted) === 10) this.#line++;
    }
    return this.#line;
  }
}

const BLANKS = /[ \t]+/y;
const ESCAPED: Record<string, string> = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\x1b" };

function unescaped(text: string): string {
  return text.replace(
    /\\(?:x(.{2})|u(.{4})|U(.{8})|(.))/g,
    (_, x?: string, u?: string, long?: string, letter?: string) =>
      letter !== undefined
        ? (ESCAPED[letter] ?? letter)
        : String.fromCodePoint(Number.parseInt(x ?? u ?? long ?? "", 16)),
  );
}
