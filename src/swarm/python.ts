/**
 * JSON and text as Python reads and prints them: programs that read swarm-cli's output were written
 * against Python's.
 *
 * Reading keeps what Python keeps: numbers stay as they were written (a 64-bit id does not survive a
 * double), keys keep their order (JavaScript moves those that look like numbers), and NaN and
 * Infinity are accepted, for Python writes them.
 */
export type JsonTree = null | boolean | string | JsonNumber | JsonTree[] | Map<string, JsonTree>;

export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity)|NaN/y;
const WORDS = { null: null, true: true, false: false };

/** Throws a SyntaxError that says where. */
export function readJson(text: string): JsonTree {
  let at = 0;
  const unexpected = () => {
    const reason = at < text.length ? `unexpected ${text[at]}` : "cut short";
    return new SyntaxError(`${reason} at character ${Math.min(at, text.length)}`);
  };
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text) ?? [""];
    at += found.length;
    return found;
  };
  const takes = (character: string): boolean => {
    match(SPACE);
    if (text[at] !== character) return false;
    at++;
    return true;
  };
  const expectNext = (character: string) => {
    if (!takes(character)) throw unexpected();
  };

  /** From behind the opening quote on. */
  const string = (): string => {
    const start = at - 1;
    for (;;) {
      const quote = text.indexOf('"', at);
      if (quote < 0) throw unexpected();
      at = quote + 1;
      let backslashes = 0;
      while (text[quote - 1 - backslashes] === "\\") backslashes++;
      if (backslashes % 2 === 0) return JSON.parse(text.slice(start, at)) as string;
    }
  };
  const object = (): Map<string, JsonTree> => {
    const members = new Map<string, JsonTree>();
    if (takes("}")) return members;
    do {
      expectNext('"');
      const key = string();
      expectNext(":");
      members.set(key, value());
    } while (takes(","));
    expectNext("}");
    return members;
  };
  const list = (): JsonTree[] => {
    const items: JsonTree[] = [];
    if (takes("]")) return items;
    do items.push(value());
    while (takes(","));
    expectNext("]");
    return items;
  };
  const value = (): JsonTree => {
    if (takes("{")) return object();
    if (takes("[")) return list();
    if (takes('"')) return string();
    for (const [word, meaning] of Object.entries(WORDS)) {
      if (!text.startsWith(word, at)) continue;
      at += word.length;
      return meaning;
    }
    const digits = match(NUMBER);
    if (digits === "") throw unexpected();
    return new JsonNumber(digits);
  };

  const tree = value();
  match(SPACE);
  if (at < text.length) throw unexpected();
  return tree;
}

/** A number that is a float in Python, whatever its value. */
export class Float {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** A value that can be dumped: a tree that was read, or one made of plain values here. */
export type Dumpable =
  | JsonTree
  | Float
  | number
  | bigint
  | readonly Dumpable[]
  | ReadonlyMap<string, Dumpable>
  | { readonly [key: string]: Dumpable };

/** json.dumps: ASCII only; on one line, or with an indentation of two spaces. */
export function dumps(value: Dumpable, style: "line" | "indented" = "line"): string {
  return style === "line" ? dump(value, null) : dump(value, "\n");
}

/** `newline` is a line feed and the current indentation, or null for everything on one line. */
function dump(value: Dumpable, newline: string | null): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return ascii(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return Number.isInteger(value) ? `${BigInt(value)}` : float(value);
  if (value instanceof Float) return float(value.value);
  if (value instanceof JsonNumber) return numeral(value.text);
  const inner = newline === null ? null : `${newline}  `;
  if (isList(value)) {
    return enclose(
      "[]",
      value.map((one) => dump(one, inner)),
      newline,
    );
  }
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const members = entries.map(([key, one]) => `${ascii(key)}: ${dump(one as Dumpable, inner)}`);
  return enclose("{}", members, newline);
}

/** Array.isArray does not narrow a readonly array. */
function isList(value: object): value is readonly Dumpable[] {
  return Array.isArray(value);
}

function enclose(brackets: "[]" | "{}", parts: readonly string[], newline: string | null): string {
  if (parts.length === 0) return brackets;
  const [open, close] = brackets;
  if (newline === null) return `${open}${parts.join(", ")}${close}`;
  return `${open}${newline}  ${parts.join(`,${newline}  `)}${newline}${close}`;
}

function ascii(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (c) => `\\u${hex(c, 4)}`);
}

/** A number as it was written, after Python has read it. */
function numeral(text: string): string {
  if (/^-?\d+$/.test(text)) return BigInt(text).toString();
  return float(Number(text));
}

/** repr(float): the shortest digits that read back as the same number. */
function float(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 16) {
    return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  const fixed = Object.is(value, -0) ? "-0" : String(value);
  return fixed.includes(".") ? fixed : `${fixed}.0`;
}

const NAMED: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

/** repr(str), as it stands in argparse's messages. */
export function repr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u00a0\\]/gu, (c) => {
    const code = c.codePointAt(0) ?? 0;
    const other = code < 0x100 ? `\\x${hex(c, 2)}` : code < 0x10000 ? `\\u${hex(c, 4)}` : c;
    return NAMED[c] ?? other;
  });
  return quote + (quote === "'" ? body.replaceAll("'", "\\'") : body) + quote;
}

function hex(character: string, digits: number): string {
  return character.charCodeAt(0).toString(16).padStart(digits, "0");
}
