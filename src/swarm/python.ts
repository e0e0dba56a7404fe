import { asciiJson } from "../base/json.ts";

/**
 * JSON and text as Python reads and prints them, because readers of swarm-cli's output expect that.
 * Numbers keep their text (a double would lose digits of a 64-bit id), keys keep their order (JavaScript
 * reorders numeric ones), and NaN and Infinity are valid: Python writes them.
 */
export type JsonTree = null | boolean | string | JsonNumber | JsonTree[] | Map<string, JsonTree>;

export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** A float in Python, also where the value is whole. */
  static float(value: number): JsonNumber {
    return new JsonNumber(value.toExponential());
  }
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity)|NaN/y;
const WORDS = { null: null, true: true, false: false };

/** Throws a SyntaxError with the position. */
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

/** A tree from readJson, or one of plain values. */
export type Dumpable =
  | JsonTree
  | number
  | bigint
  | Dumpable[]
  | ReadonlyMap<string, Dumpable>
  | { readonly [key: string]: Dumpable };

/** json.dumps: ASCII only; on one line, or with an indentation of two spaces. */
export function dumps(value: Dumpable, style: "line" | "indented" = "line"): string {
  return style === "line" ? dump(value, null) : dump(value, "\n");
}

/** `newline` is a line feed and the current indentation, or null for everything on one line. */
function dump(value: Dumpable, newline: string | null): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return asciiJson(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return Number.isInteger(value) ? `${BigInt(value)}` : float(value);
  if (value instanceof JsonNumber)
    return /^-?\d+$/.test(value.text) ? `${BigInt(value.text)}` : float(Number(value.text));
  const inner = newline === null ? null : `${newline}  `;
  if (Array.isArray(value)) {
    const items = value.map((one) => dump(one, inner));
    return enclose("[]", items, newline);
  }
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const members = entries.map(([key, one]) => `${asciiJson(key)}: ${dump(one as Dumpable, inner)}`);
  return enclose("{}", members, newline);
}

function enclose(brackets: "[]" | "{}", parts: readonly string[], newline: string | null): string {
  if (parts.length === 0) return brackets;
  const [open, close] = brackets;
  if (newline === null) return `${open}${parts.join(", ")}${close}`;
  return `${open}${newline}  ${parts.join(`,${newline}  `)}${newline}${close}`;
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

/** repr(str), as in argparse's messages. */
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
