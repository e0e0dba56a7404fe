import { isVivError } from "../base/errors.ts";
import { assertName, suggest } from "../base/names.ts";
import { PRIORITIES, type Priority } from "../base/priority.ts";
import { sentence, shown } from "../base/text.ts";
import { ENGINE_NAMES, type EngineName } from "../engines/config-engine.ts";
import { CrewFields, type RawField } from "./field.ts";

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

const FIELDS = [
  ...["DEF", "INTERVAL", "LIFECYCLE", "ENGINE", "MODEL", "COMMAND", "MODE", "WORKDIR", "RUN-IF"],
  ...["BUDGET-USD-DAY", "PRIORITY", "CONTINUOUS"],
];
/** Properties with a meaning in org itself. */
const OF_ORG = ["ID", "CUSTOM-ID", "CATEGORY"];

export interface RawMember {
  name: string;
  line: number;
  /** As they are written, in their order. */
  fields: readonly (RawField & { name: string })[];
}

/** The valid members, in order; `warn` gets what is dropped, parked or odd, with its line. */
export function membersFrom(
  raws: readonly RawMember[],
  warn: (line: number, what: string) => void,
): Member[] {
  const members = new Map<string, Member>();
  for (const raw of raws) {
    const refusal = refusalOf(raw.name);
    if (refusal !== null) {
      warn(raw.line, `${refusal}; this member is dropped.`);
      continue;
    }
    const known = members.get(raw.name);
    if (known !== undefined) {
      const where = `there is one on line ${known.line} already`;
      warn(raw.line, `a second member ${raw.name} is dropped: ${where}.`);
      continue;
    }
    const member = memberFrom(raw, members.size, warn);
    if (member !== null) members.set(raw.name, member);
  }
  return [...members.values()];
}

/** Member names become file names, like those of workers. */
function refusalOf(name: string): string | null {
  try {
    assertName("worker name", name);
    return null;
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    return error.message.replace(/^worker name/, "the name").replace(/\.$/, "");
  }
}

function memberFrom(
  raw: RawMember,
  index: number,
  warn: (line: number, what: string) => void,
): Member | null {
  const { name, line } = raw;
  const problems: string[] = [];
  const fields = new CrewFields(fieldsOf(raw, warn), (where, what) => {
    problems.push(what);
    warn(where, sentence(`${name} is parked: ${what}`));
  });
  const def = fields.text("DEF");
  if (def === null && problems.length === 0) {
    warn(line, `${name} has no def and is dropped; give it one: DEF is the path of a file.`);
    return null;
  }
  const command = fields.text("COMMAND");
  const engine = fields.choice("ENGINE", ENGINE_NAMES);
  if (engine === "exec" && !fields.has("COMMAND")) {
    const what = "the engine exec needs a COMMAND";
    problems.push(what);
    warn(fields.lineOf("ENGINE") ?? line, `${name} is parked: ${what}.`);
  }
  if (engine !== null && engine !== "exec" && command !== null) {
    const where = fields.lineOf("COMMAND") ?? line;
    warn(where, `${name}: COMMAND is for the engine exec, and ${engine} does not use it.`);
  }
  return {
    name,
    index,
    def: def ?? "",
    lifecycle: fields.text("LIFECYCLE"),
    intervalMs: fields.interval("INTERVAL") ?? DEFAULT_INTERVAL_MS,
    engine: engine ?? (command === null ? "claude" : "exec"),
    model: fields.text("MODEL"),
    command,
    mode: fields.choice("MODE", MODES) ?? "plan",
    workdir: fields.text("WORKDIR"),
    runIf: fields.text("RUN-IF"),
    budgetUsdDay: fields.usd("BUDGET-USD-DAY"),
    priority: fields.choice("PRIORITY", PRIORITIES) ?? "normal",
    isContinuous: fields.flag("CONTINUOUS") ?? false,
    problem: problems.length === 0 ? null : problems.join("; "),
    line,
  };
}

/** By name; the first of each counts. `run_if`, `RUN_IF` and `run-if` are one. */
function fieldsOf(
  raw: RawMember,
  warn: (line: number, what: string) => void,
): Map<string, RawField> {
  const fields = new Map<string, RawField>();
  for (const field of raw.fields) {
    const name = field.name.toUpperCase().replaceAll("_", "-");
    if (OF_ORG.includes(name)) continue;
    if (!FIELDS.includes(name)) {
      const meant = name.length <= 40 ? suggest(name, FIELDS) : undefined;
      const hint =
        meant === undefined ? `there are ${FIELDS.join(" ")}.` : `did you mean ${meant}?`;
      warn(field.line, `${raw.name}: unknown property ${shown(field.name)}; ${hint}`);
    } else if (fields.has(name)) {
      warn(field.line, `${raw.name}: a second ${field.shown} is passed over.`);
    } else fields.set(name, field);
  }
  return fields;
}
