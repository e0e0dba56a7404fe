import { nearest } from "../base/config-table.ts";
import { parseInterval } from "../base/interval.ts";
import { shown } from "../base/text.ts";

/** One property of a member as it is written: always a text in org, in TOML whatever it is there. */
export interface RawField {
  /** As the reader of the log knows it: `:DEF:`, `def`. */
  shown: string;
  value: unknown;
  line: number;
}

/** The properties of one member, by name in capitals with dashes; what is wrong goes to `problem`. */
export class CrewFields {
  readonly #fields: ReadonlyMap<string, RawField>;
  readonly #problem: (line: number, what: string) => void;

  constructor(
    fields: ReadonlyMap<string, RawField>,
    problem: (line: number, what: string) => void,
  ) {
    this.#fields = fields;
    this.#problem = problem;
  }

  /** Null for what is missing, empty or wrong. */
  text(name: string): string | null {
    return this.#read(name, "must be a text", (value) => (value.includes("\0") ? null : value));
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | null {
    const written = this.#written(name);
    const meant = nearest(written, choices);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    return this.#read(name, `must be one of ${choices.join(" ")}${hint}`, (value) => {
      return choices.find((choice) => choice === value.toLowerCase()) ?? null;
    });
  }

  interval(name: string): number | null {
    const what = "must be like 90s, 10m, 2h or a number of milliseconds, and more than zero";
    return this.#read(name, what, (value) => parseInterval(value) || null);
  }

  usd(name: string): number | null {
    return this.#read(name, "must be a number of dollars, more than zero", (value) => {
      const usd = /^\$?\d+(?:\.\d+)?$/.test(value) ? Number(value.replace("$", "")) : 0;
      return usd > 0 && Number.isFinite(usd) ? usd : null;
    });
  }

  flag(name: string): boolean | null {
    return this.#read(name, "must be yes or no", (value) => {
      if (/^(?:yes|true|t|on|1)$/i.test(value)) return true;
      return /^(?:no|false|nil|off|0)$/i.test(value) ? false : null;
    });
  }

  has(name: string): boolean {
    return this.#written(name) !== "";
  }

  lineOf(name: string): number | undefined {
    return this.#fields.get(name)?.line;
  }

  #written(name: string): string {
    const value = this.#fields.get(name)?.value;
    return typeof value === "object" || value === undefined ? "" : String(value).trim();
  }

  #read<T>(name: string, what: string, read: (value: string) => T | null): T | null {
    const field = this.#fields.get(name);
    if (field === undefined) return null;
    if (typeof field.value === "object") {
      this.#problem(field.line, `${field.shown} ${what}`);
      return null;
    }
    const written = this.#written(name);
    if (written === "") return null;
    const value = read(written);
    if (value === null) this.#problem(field.line, `${field.shown} ${shown(written)} ${what}`);
    return value;
  }
}
