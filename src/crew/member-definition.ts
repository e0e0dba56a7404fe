import { nearest } from "../base/config-table.ts";
import { isVivError } from "../base/errors.ts";
import { parseInterval } from "../base/interval.ts";
import { assertNewName } from "../base/names.ts";
import { PRIORITIES, type Priority } from "../base/priority.ts";
import { sentence, shown } from "../base/text.ts";
import { ENGINE_NAMES, type EngineName } from "../engines/config-engine.ts";

/** A standing agent of a crew. Its paths are as they are written: relative to the manifest. */
export interface Member {
  name: string;
  /** Its place in the crew, from 0: decides its delay at the start. */
  index: number;
  def: string;
  lifecycle: string | null;
  intervalMs: number;
  engine: EngineName;
  model: string | null;
  /** Of the engine exec. */
  command: string | null;
  mode: (typeof MODES)[number];
  /** Its mode is written down: plan is a decision then, and not only the default. */
  isModeGiven: boolean;
  /** Null: the manifest's folder. */
  workdir: string | null;
  runIf: string | null;
  budgetUsdDay: number | null;
  priority: Priority;
  isContinuous: boolean;
  /** Why it is parked. */
  problem: string | null;
  /** Where it stands in the manifest. */
  line: number;
}

export const MODES = ["plan", "edit"] as const;
export const DEFAULT_INTERVAL_MS = 3_600_000;

export const MEMBER_FIELDS = [
  ...["DEF", "INTERVAL", "LIFECYCLE", "ENGINE", "MODEL", "COMMAND", "MODE", "WORKDIR", "RUN-IF"],
  ...["BUDGET-USD-DAY", "PRIORITY", "CONTINUOUS"],
];
/** Properties with a meaning in org itself. */
const OF_ORG = ["ID", "CUSTOM-ID", "CATEGORY"];

/** One property of a member as it is written: always a text in org, in TOML any value. */
interface RawField {
  name: string;
  /** As the reader of the log knows it: `:DEF:`, `def`. */
  shown: string;
  value: unknown;
  line: number;
}

export interface RawMember {
  name: string;
  line: number;
  fields: readonly RawField[];
}

type Warn = (line: number, what: string) => void;

/** The valid members, in order; `warn` gets a line for each that is dropped, parked or odd. */
export function membersFrom(raws: readonly RawMember[], warn: Warn): Member[] {
  const members = new Map<string, Member>();
  for (const raw of raws) {
    const refusal = refusalOf(raw.name);
    const known = members.get(raw.name);
    if (refusal !== null) {
      warn(raw.line, `${refusal}; this member is dropped.`);
    } else if (known !== undefined) {
      const where = `there is one on line ${known.line} already`;
      warn(raw.line, `a second member ${raw.name} is dropped: ${where}.`);
    } else {
      const member = memberFrom(raw, members.size, warn);
      if (member !== null) members.set(raw.name, member);
    }
  }
  return [...members.values()];
}

/** Member names become file names, like those of workers. */
function refusalOf(name: string): string | null {
  try {
    assertNewName("worker name", name);
    return null;
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    return error.message.replace(/^worker name/, "the name").replace(/\.$/, "");
  }
}

function memberFrom(raw: RawMember, index: number, warn: Warn): Member | null {
  const { name, line } = raw;
  const problems: string[] = [];
  const park = (where: number, what: string) => {
    problems.push(what);
    warn(where, sentence(`${name} is parked: ${what}`));
  };
  const fields = fieldsOf(raw, warn);
  /** Null for a field that is missing, empty or wrong. */
  const read = <T>(field: string, what: string, parse: (value: string) => T | null): T | null => {
    const found = fields.get(field);
    if (found === undefined) return null;
    const value = written(found);
    if (value === "") return null;
    const result = value === null ? null : parse(value);
    if (result !== null) return result;
    park(found.line, `${found.shown} ${value === null ? "" : `${shown(value)} `}${what}`);
    return null;
  };
  const text = (field: string) =>
    read(field, "must be a text", (value) => (value.includes("\0") ? null : value));
  const choice = <T extends string>(field: string, choices: readonly T[]) => {
    const meant = nearest(written(fields.get(field)), choices);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    return read(
      field,
      `must be one of ${choices.join(" ")}${hint}`,
      (value) => choices.find((one) => one === value.toLowerCase()) ?? null,
    );
  };

  const def = text("DEF");
  if (def === null && problems.length === 0) {
    warn(line, `${name} has no def and is dropped; give it one: DEF is the path of a file.`);
    return null;
  }
  const command = text("COMMAND");
  const engine = choice("ENGINE", ENGINE_NAMES);
  if (engine === "exec" && !written(fields.get("COMMAND"))) {
    park(fields.get("ENGINE")?.line ?? line, "the engine exec needs a COMMAND");
  }
  if (engine !== null && engine !== "exec" && command !== null) {
    const where = fields.get("COMMAND")?.line ?? line;
    warn(where, `${name}: COMMAND is for the engine exec, and ${engine} does not use it.`);
  }
  const interval = "must be like 90s, 10m, 2h or a number of milliseconds, and more than zero";
  return {
    name,
    index,
    def: def ?? "",
    lifecycle: text("LIFECYCLE"),
    intervalMs:
      read("INTERVAL", interval, (value) => parseInterval(value) || null) ?? DEFAULT_INTERVAL_MS,
    engine: engine ?? (command === null ? "claude" : "exec"),
    model: text("MODEL"),
    command,
    mode: choice("MODE", MODES) ?? "plan",
    isModeGiven: written(fields.get("MODE")) !== "",
    workdir: text("WORKDIR"),
    runIf: text("RUN-IF"),
    budgetUsdDay: read("BUDGET-USD-DAY", "must be a number of dollars, more than zero", usdFrom),
    priority: choice("PRIORITY", PRIORITIES) ?? "normal",
    isContinuous: read("CONTINUOUS", "must be yes or no", flagFrom) ?? false,
    problem: problems.length === 0 ? null : problems.join("; "),
    line,
  };
}

/** By name; the first of each counts. `run_if`, `RUN_IF` and `run-if` are one. */
function fieldsOf(raw: RawMember, warn: Warn): Map<string, RawField> {
  const fields = new Map<string, RawField>();
  for (const field of raw.fields) {
    const name = field.name.toUpperCase().replaceAll("_", "-");
    if (OF_ORG.includes(name)) continue;
    if (!MEMBER_FIELDS.includes(name)) {
      const meant = nearest(name, MEMBER_FIELDS);
      const hint = meant ? `did you mean ${meant}?` : `there are ${MEMBER_FIELDS.join(" ")}.`;
      warn(field.line, `${raw.name}: unknown property ${shown(field.name)}; ${hint}`);
    } else if (fields.has(name)) {
      warn(field.line, `${raw.name}: a second ${field.shown} is ignored.`);
    } else fields.set(name, field);
  }
  return fields;
}

/** "" when it is missing; null for a list, a table or a date. */
function written(field: RawField | undefined): string | null {
  if (field === undefined) return "";
  return typeof field.value === "object" ? null : String(field.value).trim();
}

function usdFrom(value: string): number | null {
  const usd = /^\$?\d+(?:\.\d+)?$/.test(value) ? Number(value.replace("$", "")) : 0;
  return usd > 0 && Number.isFinite(usd) ? usd : null;
}

function flagFrom(value: string): boolean | null {
  if (/^(?:yes|true|t|on|1)$/i.test(value)) return true;
  return /^(?:no|false|nil|off|0)$/i.test(value) ? false : null;
}
