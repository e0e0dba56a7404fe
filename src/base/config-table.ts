import { parseDuration } from "./duration.ts";
import { isVivError } from "./errors.ts";
import { suggest } from "./names.ts";
import { shown } from "./shown.ts";
import { parseSize } from "./size.ts";
import { lineOf, type Place } from "./toml-lines.ts";

/** Keys that stand outside of every table, where TOML wants them: above the first. */
export const TOP_KEYS = ["run", "on_dependency_failed"];

export interface Problem {
  line: number;
  message: string;
}

/** Where mistakes are collected while a file is read, and what tells their lines. */
export interface Notes {
  readonly places: Place;
  readonly problems: Problem[];
}

/**
 * One table of a configuration file. Its values come out checked; for what is missing or wrong
 * `undefined` comes out, and what is wrong is noted, so that reading goes on to the next mistake.
 */
export class ConfigTable {
  readonly #values: Record<string, unknown>;
  readonly #path: readonly string[];
  readonly #notes: Notes;

  constructor(values: Record<string, unknown>, path: readonly string[], notes: Notes) {
    this.#values = values;
    this.#path = path;
    this.#notes = notes;
  }

  /** As it is written in the file: `[handlers.implement]`. */
  get title(): string {
    const keys = this.#path.map((key) => (/^[\w-]+$/.test(key) ? key : shown(key)));
    return `[${keys.join(".")}]`;
  }

  get keys(): string[] {
    return Object.keys(this.#values);
  }

  /** Only what the file says: a key may be called `constructor`. */
  get(key: string): unknown {
    return Object.hasOwn(this.#values, key) ? this.#values[key] : undefined;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  hasTable(key: string): boolean {
    const value = this.get(key);
    const isObject = typeof value === "object" && value !== null;
    return isObject && !Array.isArray(value) && !(value instanceof Date);
  }

  table(key: string): ConfigTable | undefined {
    if (!this.hasTable(key)) return undefined;
    const values = this.get(key) as Record<string, unknown>;
    return new ConfigTable(values, [...this.#path, key], this.#notes);
  }

  /** Notes a mistake at a key, at an item of its list, or at the table itself. */
  note(where: readonly (string | number)[], what: string, meant?: string): void {
    const path = [...this.#path, ...where.map(String)];
    const message = meant === undefined ? `${what}.` : `${what}; did you mean "${meant}"?`;
    this.#notes.problems.push({ line: lineOf(this.#notes.places, path), message });
  }

  /** Notes the keys that are none of `known`. A key that belongs elsewhere has a hint to where. */
  refuseUnknown(known: readonly string[], hintFor: (key: string) => string | undefined): void {
    const where = this.#path.length === 0 ? "" : ` in ${this.title}`;
    for (const key of this.keys) {
      if (known.includes(key)) continue;
      const what = `unknown ${this.hasTable(key) ? "table" : "key"} ${shown(key)}${where}`;
      const hint = hintFor(key);
      if (hint === undefined) this.note([key], what, nearest(key, known));
      else this.note([key], `${what}; ${hint}`);
    }
  }

  /** What `read` returns; the sentence of what it throws is noted at the key. */
  attempt<T>(key: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!isVivError(error, "INVALID")) throw error;
      this.note([key], error.message.replace(/\.$/, ""));
      return undefined;
    }
  }

  /** A string with something in it; `what` completes "must be …". */
  text(key: string, what: string): string | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (typeof value !== "string" || value.trim() === "") {
      this.note([key], `${key} must be ${what}`);
    } else if (value.includes("\0")) this.note([key], `${key} must not contain a NUL character`);
    else return value;
    return undefined;
  }

  /** A list of strings, which may be empty. */
  texts(key: string, what: string): string[] | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) {
      this.note([key], `${key} must be ${what}`);
      return undefined;
    }
    const list: string[] = [];
    value.forEach((item: unknown, i) => {
      if (typeof item !== "string") this.note([key, i], `${key} must be ${what}`);
      else if (item.includes("\0")) this.note([key, i], `${key} must not contain a NUL character`);
      else list.push(item);
    });
    return list.length === value.length ? list : undefined;
  }

  flag(key: string): boolean | undefined {
    const value = this.get(key);
    if (typeof value === "boolean" || value === undefined) return value;
    this.note([key], `${key} must be true or false`);
    return undefined;
  }

  choice<T extends string>(key: string, choices: readonly T[]): T | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) {
      this.note([key], `${key} must be ${listed(choices)}`, nearest(value, choices));
    }
    return found;
  }

  whole(key: string, max = Number.POSITIVE_INFINITY): number | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= max) {
      return Number(value);
    }
    const range = max === Number.POSITIVE_INFINITY ? ", at least 1" : ` from 1 to ${max}`;
    this.note([key], `${key} must be a whole number${range}`);
    return undefined;
  }

  /** More than zero, with or without a fraction. */
  amount(key: string): number | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
    this.note([key], `${key} must be a number, more than zero`);
    return undefined;
  }

  /** Not less than zero: a model of one's own costs nothing. */
  price(key: string): number | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
    this.note([key], `${key} must be a number, not less than zero`);
    return undefined;
  }

  /** In milliseconds, never zero; a number is seconds, as bare digits are. */
  duration(key: string): number | undefined {
    return this.#measure(key, parseDuration, 'a duration like "90s" or "10m"');
  }

  /** In bytes, never zero. */
  size(key: string): number | undefined {
    return this.#measure(key, parseSize, 'a size like "10MB", or a number of bytes');
  }

  #measure(
    key: string,
    parse: (text: string, what: string) => number,
    what: string,
  ): number | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (typeof value !== "string" && typeof value !== "number") {
      this.note([key], `${key} must be ${what}`);
      return undefined;
    }
    const amount = this.attempt(key, () => parse(String(value), key));
    if (amount === undefined || amount > 0) return amount;
    this.note([key], `${key} must be more than zero`);
    return undefined;
  }
}

/** For a key that stands below the first table by mistake. */
export function belongsOnTop(key: string): string | undefined {
  return TOP_KEYS.includes(key) ? "it belongs above the first table of the file" : undefined;
}

/** Which of `choices` was probably meant. */
export function nearest(value: unknown, choices: readonly string[]): string | undefined {
  return typeof value === "string" && value.length <= 40 ? suggest(value, choices) : undefined;
}

function listed(choices: readonly string[]): string {
  const quoted = choices.map((choice) => `"${choice}"`);
  return `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
}
