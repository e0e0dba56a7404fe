import { parseDuration } from "./duration.ts";
import { isVivError, VivError } from "./errors.ts";
import { suggest } from "./names.ts";
import { parseSize } from "./size.ts";
import { shown } from "./text.ts";
import { lineOf, type Place, placesOf } from "./toml-lines.ts";

/** Reads a TOML file. All mistakes are in one INVALID, one on a line, each with its place. */
export async function readToml<T>(
  text: string,
  file: string,
  read: (top: ConfigTable) => T,
  onRead?: OnRead,
): Promise<T> {
  // Only here: most commands read no TOML and do not pay for the parser.
  const values = parseToml(await import("smol-toml"), text, file);
  const { result, problems } = readTable(values, read, { places: placesOf(text), onRead });
  if (problems.length === 0) return result;
  const message = problems.map((p) => `${file}:${p.line}: ${p.message}`).join("\n");
  throw new VivError("INVALID", message, { problems });
}

export interface ConfigProblem {
  line: number;
  message: string;
}

/** Reads what a parser made of a file: the result, and the mistakes by line. */
export function readTable<T>(
  values: Record<string, unknown>,
  read: (top: ConfigTable) => T,
  around: { places?: Place; onRead?: OnRead } = {},
): { result: T; problems: ConfigProblem[] } {
  const { places = { line: 1, inside: new Map() }, onRead } = around;
  const notes: Notes = { places, problems: [], onRead };
  const result = read(new ConfigTable(values, [], notes));
  return { result, problems: notes.problems.sort((a, b) => a.line - b.line) };
}

/**
 * How a key is read: its place in the file, and what may stand there. `any`: the reader checks it
 * itself. The schema of viv.toml and `viv config show` are made of these.
 */
export interface KeyRead {
  path: readonly string[];
  /** As it is written; undefined: it is not there. */
  value: unknown;
  line: number;
  kind: KeyKind;
  choices?: readonly string[];
  min?: number;
  max?: number;
}

type KeyForm = Omit<KeyRead, "path" | "value" | "line">;

type KeyKind =
  | "any"
  | "text"
  | "texts"
  | "command"
  | "flag"
  | "choice"
  | "whole"
  | "amount"
  | "price"
  | "duration"
  | "size"
  | "table"
  /** A table of tables with names of the user's own. */
  | "tables";
type OnRead = (read: KeyRead) => void;

export function parseToml(
  { parse, TomlError }: Pick<typeof import("smol-toml"), "parse" | "TomlError">,
  text: string,
  file: string,
): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = `${file}:${error.line}:${error.column}: ${error.message.split("\n")[0]}`;
    throw new VivError("INVALID", message, {}, { cause: error });
  }
}

interface Notes {
  readonly places: Place;
  readonly problems: ConfigProblem[];
  readonly onRead?: OnRead;
}

/**
 * One table of a TOML file. A reader returns the checked value of a key, or `undefined` for a key
 * that is missing or wrong; what is wrong is noted, so that reading goes on to the next mistake.
 * The table remembers which keys were asked for: `refuseOthers` notes the rest.
 */
export class ConfigTable {
  readonly #values: Record<string, unknown>;
  readonly #path: readonly string[];
  readonly #notes: Notes;
  readonly #asked = new Set<string>();
  readonly #tables = new Map<string, ConfigTable>();

  readonly #isItem: boolean;

  constructor(
    values: Record<string, unknown>,
    path: readonly string[],
    notes: Notes,
    isItem = false,
  ) {
    this.#values = values;
    this.#path = path;
    this.#notes = notes;
    this.#isItem = isItem;
  }

  /** As it is written in the file: `[handlers.implement]`, and `[[notify]]` for one of a list. */
  get title(): string {
    if (this.#isItem) return `[[${this.#path.slice(0, -1).join(".")}]]`;
    const keys = this.#path.map((key) => (/^[\w-]+$/.test(key) ? key : shown(key)));
    return `[${keys.join(".")}]`;
  }

  get keys(): string[] {
    return Object.keys(this.#values);
  }

  get(key: string): unknown {
    this.#asked.add(key);
    this.#tell(key, { kind: "any" });
    return this.#peek(key);
  }

  #tell(key: string, how: KeyForm): void {
    const { onRead, places } = this.#notes;
    if (onRead === undefined) return;
    const path = [...this.#path, key];
    onRead({ path, value: this.#peek(key), line: lineOf(places, path), ...how });
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  hasTable(key: string): boolean {
    return isTable(this.#peek(key));
  }

  /** Only own keys: one may be called `constructor`. */
  #peek(key: string): unknown {
    return Object.hasOwn(this.#values, key) ? this.#values[key] : undefined;
  }

  /** The same object each time, so that two rooms can read one table. */
  table(key: string, kind: "table" | "tables" = "table"): ConfigTable | undefined {
    const values = this.get(key);
    this.#tell(key, { kind });
    if (!isTable(values)) return undefined;
    const table =
      this.#tables.get(key) ?? new ConfigTable(values, [...this.#path, key], this.#notes);
    this.#tables.set(key, table);
    return table;
  }

  /** A table that need not be there: then it is empty. */
  section(key: string, like?: string): ConfigTable {
    const table = this.table(key);
    if (table !== undefined) return table;
    const empty = new ConfigTable({}, [...this.#path, key], this.#notes);
    if (this.has(key)) this.note([key], `${key} must be a table${like ?? `: ${empty.title}`}`);
    return empty;
  }

  /** The tables in a table of tables, by name; `example` completes "must hold …". */
  tables(key: string, example: string): [name: string, table: ConfigTable][] {
    const outer = this.table(key, "tables");
    if (outer === undefined && this.has(key)) this.note([key], `${key} must hold ${example}`);
    return (outer?.keys ?? []).flatMap((name) => {
      const table = outer?.table(name);
      if (table !== undefined) return [[name, table]];
      outer?.note([name], `${shown(name)} is not a table; ${outer.title} must hold ${example}`);
      return [];
    });
  }

  /** The tables of a list of tables, `[[key]]`. */
  items(key: string): ConfigTable[] {
    const list = this.get(key);
    if (list === undefined) return [];
    if (!Array.isArray(list) || !list.every(isTable)) {
      this.note([key], `${key} must be a list of tables, each with the head [[${key}]]`);
      return [];
    }
    const path = (i: number) => [...this.#path, key, String(i)];
    return list.map((values, i) => new ConfigTable(values, path(i), this.#notes, true));
  }

  /** Notes a mistake at a key, at an item of its list, or at the table itself. */
  note(where: readonly (string | number)[], what: string, meant?: string): void {
    const path = [...this.#path, ...where.map(String)];
    const message = meant === undefined ? `${what}.` : `${what}; did you mean "${meant}"?`;
    this.#notes.problems.push({ line: lineOf(this.#notes.places, path), message });
  }

  /**
   * Notes the keys that no reader has asked for, so it comes last. A key that belongs elsewhere has a
   * hint to where.
   */
  refuseOthers(hintFor: (key: string) => string | undefined = () => undefined): void {
    const where = this.#path.length === 0 ? "" : ` in ${this.title}`;
    for (const key of this.keys) {
      if (this.#asked.has(key)) continue;
      const what = `unknown ${this.hasTable(key) ? "table" : "key"} ${shown(key)}${where}`;
      const hint = hintFor(key);
      if (hint === undefined) this.note([key], what, nearest(key, [...this.#asked]));
      else this.note([key], `${what}; ${hint}`);
    }
  }

  /** Whether a key is missing because it is misspelt, which `refuseOthers` notes. */
  isMisspelt(key: string): boolean {
    return !this.has(key) && this.keys.some((one) => nearest(one, [key]) !== undefined);
  }

  /** The result of `read`; the message of an INVALID is noted at the key. */
  attempt<T>(key: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!isVivError(error, "INVALID")) throw error;
      this.note([key], error.message.replace(/\.$/, ""));
      return undefined;
    }
  }

  /** `what` completes "must be …". */
  #read<T>(
    key: string,
    how: KeyForm,
    what: string,
    check: (value: unknown) => T | undefined,
  ): T | undefined {
    const { choices = [] } = how;
    const value = this.get(key);
    this.#tell(key, how);
    if (value === undefined) return undefined;
    const checked = check(value);
    if (checked === undefined) this.note([key], `${key} must be ${what}`, nearest(value, choices));
    return checked;
  }

  text(key: string, what: string, isRight = isFilled): string | undefined {
    const text = this.#read(key, { kind: "text" }, what, (value) =>
      typeof value === "string" && isRight(value) ? value : undefined,
    );
    if (!text?.includes("\0")) return text;
    this.note([key], `${key} must not contain a NUL character`);
    return undefined;
  }

  /** A list of strings, which may be empty. `choices`: for editors; the caller checks them. */
  texts(key: string, what: string, choices?: readonly string[]): string[] | undefined {
    const isList = (value: unknown) => (Array.isArray(value) ? value : undefined);
    const list = this.#read(key, { kind: "texts", choices }, what, isList);
    const right = list?.filter((item: unknown, i): item is string => {
      if (typeof item !== "string") this.note([key, i], `${key} must be ${what}`);
      else if (item.includes("\0")) this.note([key, i], `${key} must not contain a NUL character`);
      else return true;
      return false;
    });
    return right?.length === list?.length ? right : undefined;
  }

  /** A command and its arguments: one word, or a list. There is no shell to split a string. */
  command(key: string, example: string): string[] | undefined {
    this.#tell(key, { kind: "command" });
    if (typeof this.get(key) === "string") {
      const path = this.text(key, "the path or the name of a command");
      if (path !== undefined && /\s/.test(path)) this.note([key], spaced(key, path));
      return path === undefined ? undefined : [path];
    }
    const words = this.texts(key, `a string, or a list of them like ${example}`);
    if (words !== undefined && !isFilled(words[0] ?? "")) {
      this.note([key], `${key} is empty; its first item must be the command to start`);
    }
    return words;
  }

  flag(key: string, what = "true or false"): boolean | undefined {
    const isFlag = (value: unknown) => (typeof value === "boolean" ? value : undefined);
    return this.#read(key, { kind: "flag" }, what, isFlag);
  }

  choice<T extends string>(key: string, choices: readonly T[]): T | undefined {
    const quoted = choices.map((choice) => `"${choice}"`);
    const what = `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
    const how = { kind: "choice", choices } as const;
    return this.#read(key, how, what, (value) => choices.find((one) => one === value));
  }

  whole(key: string, max = Number.POSITIVE_INFINITY, min = 1): number | undefined {
    const range = max === Number.POSITIVE_INFINITY ? `, at least ${min}` : ` from ${min} to ${max}`;
    return this.#number(key, { kind: "whole", min, max }, `a whole number${range}`, (value) => {
      return Number.isSafeInteger(value) && value >= min && value <= max;
    });
  }

  /** More than zero, with or without a fraction. */
  amount(key: string): number | undefined {
    return this.#number(key, { kind: "amount" }, "a number, more than zero", (value) => value > 0);
  }

  /** Not less than zero: a model of one's own costs nothing. */
  price(key: string): number | undefined {
    return this.#number(
      key,
      { kind: "price" },
      "a number, not less than zero",
      (value) => value >= 0,
    );
  }

  #number(
    key: string,
    how: KeyForm,
    what: string,
    isRight: (value: number) => boolean,
  ): number | undefined {
    return this.#read(key, how, what, (value) =>
      typeof value === "number" && Number.isFinite(value) && isRight(value) ? value : undefined,
    );
  }

  /** In milliseconds; a number is seconds, as bare digits are. */
  duration(key: string, mayBeZero = false): number | undefined {
    return this.#measure(
      key,
      "duration",
      parseDuration,
      'a duration like "90s" or "10m"',
      mayBeZero,
    );
  }

  /** In bytes, never zero. */
  size(key: string): number | undefined {
    return this.#measure(key, "size", parseSize, 'a size like "10MB", or a number of bytes', false);
  }

  #measure(
    key: string,
    kind: "duration" | "size",
    parse: (text: string, what: string) => number,
    what: string,
    mayBeZero: boolean,
  ): number | undefined {
    const text = this.#read(key, { kind }, what, (value) =>
      typeof value === "string" || typeof value === "number" ? String(value) : undefined,
    );
    if (text === undefined) return undefined;
    const amount = this.attempt(key, () => parse(text, key));
    if (amount === undefined || amount > 0 || mayBeZero) return amount;
    this.note([key], `${key} must be more than zero`);
    return undefined;
  }
}

export function isTable(value: unknown): value is Record<string, unknown> {
  const isObject = typeof value === "object" && value !== null;
  return isObject && !Array.isArray(value) && !(value instanceof Date);
}

function isFilled(text: string): boolean {
  return text.trim() !== "";
}

/** A path with a space can stand in a list, too. */
function spaced(key: string, command: string): string {
  const words = command.trim().split(/\s+/);
  // Where something is quoted, the words are not what a shell would make of it.
  const isPlain = !/["'`\\$|&;<>*]/.test(command);
  const list = isPlain ? words.map((word) => JSON.stringify(word)) : ['"sh"', '"-c"', '"…"'];
  return `${key} has a space in it; write a list, one item for each word: [${list.join(", ")}]`;
}

/** The choice that was probably meant. */
export function nearest(value: unknown, choices: readonly string[]): string | undefined {
  return typeof value === "string" && value.length <= 40 ? suggest(value, choices) : undefined;
}
