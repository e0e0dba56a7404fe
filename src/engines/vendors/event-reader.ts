import type {
  EngineExit,
  EngineOutcome,
  EngineResult,
  Step,
  StreamReader,
  Waiting,
} from "../engine.ts";

export type Used = Pick<EngineResult, "usage" | "sessionTotal">;

/** The longest answer of a run that is kept. */
export const MAX_TEXT = 4_000_000;
/** The longest text of a step: one line that fits a terminal. */
const MAX_BRIEF = 200;
/** Of the unknown lines and events, so many are shown. */
const MAX_NOTICES = 20;

/**
 * Reads a stream of JSON events, one on each line. Lines that are no events and events of an unknown
 * type are shown as notices and counted; they never fail a run.
 */
export abstract class EventReader implements StreamReader {
  session: string | null = null;
  waitsFor: Waiting | null = null;
  abstract readonly isOver: boolean;
  protected text = "";
  /** The last lines that were no events: a program that does not start prints its reason there. */
  protected readonly otherLines: string[] = [];
  #unknown = 0;

  line(text: string): Step[] {
    const event = parseLine(text);
    if (!event.isMissing) {
      const type = event.string("type");
      return this.read(type, event) ?? this.unknownEvent(type);
    }
    const line = brief(text);
    if (line === "") return [];
    this.otherLines.push(line);
    if (this.otherLines.length > 5) this.otherLines.shift();
    return this.#notice(line);
  }

  end(exit: EngineExit): EngineResult {
    return {
      outcome: this.outcome(exit),
      text: this.text,
      session: this.session,
      ...this.used(),
      unknown: this.#unknown,
    };
  }

  /** Null: the type is unknown. */
  protected abstract read(type: string | null, event: Fields): Step[] | null;
  protected abstract outcome(exit: EngineExit): EngineOutcome;
  protected abstract used(): Used;

  protected unknownEvent(type: string | null): Step[] {
    return this.#notice(`unknown event ${brief(type ?? "without a type", 80)}`);
  }

  #notice(text: string): Step[] {
    this.#unknown++;
    if (this.#unknown > MAX_NOTICES) return [];
    const steps: Step[] = [{ kind: "notice", text }];
    if (this.#unknown === MAX_NOTICES) {
      steps.push({ kind: "notice", text: "more such lines are counted, and no longer shown" });
    }
    return steps;
  }
}

/** The fields of a vendor's event, each checked when it is read. A missing object has no fields. */
export class Fields {
  readonly #object: { readonly [key: string]: unknown } | null;

  constructor(value: unknown) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    this.#object = isObject ? (value as { readonly [key: string]: unknown }) : null;
  }

  get isMissing(): boolean {
    return this.#object === null;
  }

  /** Own properties only: a line may not reach inherited ones. */
  #get(key: string): unknown {
    return this.#object !== null && Object.hasOwn(this.#object, key) ? this.#object[key] : null;
  }

  at(key: string): Fields {
    return new Fields(this.#get(key));
  }

  /** These fields, and those of `base` that are missing here. */
  over(base: Fields): Fields {
    return new Fields({ ...base.#object, ...this.#object });
  }

  list(key: string): readonly unknown[] | null {
    const value = this.#get(key);
    return Array.isArray(value) ? value : null;
  }

  entries(): [key: string, fields: Fields][] {
    return Object.entries(this.#object ?? {}).map(([key, value]) => [key, new Fields(value)]);
  }

  isTrue(key: string): boolean {
    return this.#get(key) === true;
  }

  string(key: string): string | null {
    const value = this.#get(key);
    return typeof value === "string" ? value : null;
  }

  /** An id is kept, and may become an argument of a command later. */
  id(key: string): string | null {
    const value = this.string(key);
    return value !== null && /^[A-Za-z0-9][\w.:-]{0,199}$/.test(value) ? value : null;
  }

  /** Finite, and not below zero. */
  number(key: string): number | null {
    const value = this.#get(key);
    return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
  }

  /** Zero when it is missing. */
  count(key: string): number {
    return this.number(key) ?? 0;
  }
}

/** One line of a vendor's stream; without fields when it is no object. Never throws. */
export function parseLine(line: string): Fields {
  const straight = parseRecord(line);
  if (!straight.isMissing) return straight;
  const stripped = stripCodes(line).trim();
  return stripped === line ? straight : parseRecord(stripped);
}

function parseRecord(text: string): Fields {
  try {
    return new Fields(/^\s*\{/.test(text) ? JSON.parse(text) : null);
  } catch {
    return new Fields(null); // not JSON, or nested too deep for the parser
  }
}

/** Without colours, cursor movements, titles, and the controls no JSON text may contain. */
function stripCodes(text: string): string {
  return text.replace(CODES, "").replace(CONTROLS, "");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
const CODES = /\u001b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|.)/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f\ufeff]/g;

/** The beginning of a text as one line without control characters. */
export function brief(text: string, max = MAX_BRIEF): string {
  const line = stripCodes(beginning(text, max * 8))
    .replace(UNSEEN, " ")
    .replace(/\s+/g, " ")
    .trim();
  if (line.length <= max) return line;
  // Not between the halves of a character beyond the first 65,536.
  return `${line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** A copy: a slice of a string keeps the whole of it in memory, and a line may be huge. */
function beginning(text: string, length: number): string {
  return text.length <= length ? text : Buffer.from(text.slice(0, length)).toString();
}

/** C1 controls, line separators, and marks that change the direction of a text. */
const UNSEEN = /[\u0080-\u009f\u2028\u2029\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function textStep(kind: "text" | "thought" | "notice", text: string): Step {
  return { kind, text: brief(text) };
}

export function toolStep(tool: string, target: string | null): Step {
  const name = brief(tool, 80);
  return target
    ? { kind: "tool", tool: name, target: brief(target) }
    : { kind: "tool", tool: name };
}

/** The vendors' names for the target of a tool call, the most telling first. */
const TARGET_KEYS =
  "file_path filePath absolute_path notebook_path path dir_path command pattern query url description prompt name".split(
    " ",
  );

export function targetOf(input: Fields): string | null {
  for (const key of TARGET_KEYS) {
    const value = input.string(key);
    if (value) return value;
  }
  return null;
}
