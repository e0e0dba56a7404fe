import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { VivError } from "../base/errors.ts";
import { suggest } from "../base/names.ts";
import { parseUserJson } from "../base/user-json.ts";
import type { Command, ExtraFlag } from "./command.ts";

/** Flags come from the operation's input schema: `depends_on` is `--depends-on`, lists take commas. */

export type FlagKind = "string" | "boolean" | "number" | "list" | "json";

export interface Flag {
  name: string;
  key: string;
  kind: FlagKind;
  describe: string;
  short?: string;
  choices?: readonly string[];
  required: boolean;
  placeholder: string;
}

/** The part of JSON Schema that inputs are made of. */
interface Schema {
  type?: string | readonly string[];
  description?: string;
  enum?: readonly string[];
  items?: Schema;
  anyOf?: readonly Schema[];
}

export const GLOBAL_FLAGS: readonly Flag[] = [
  global(
    "run",
    "string",
    "the run directory (or VIV_RUN, or the nearest viv.toml or .viv-run)",
    "DIR",
    "r",
  ),
  global("json", "boolean", "output for programs"),
  global("no-color", "boolean", "no colours, as with NO_COLOR"),
  global("help", "boolean", "this page", "", "h"),
];

function global(
  name: string,
  kind: FlagKind,
  describe: string,
  placeholder = "",
  short?: string,
): Flag {
  return {
    name,
    key: name,
    kind,
    describe,
    required: false,
    placeholder,
    short,
  };
}

const known = new WeakMap<Command, readonly Flag[]>();

/** Flags that the build made already: the schemas of a command cost milliseconds at each start. */
export function useFlags(command: Command, flags: readonly Flag[]): void {
  known.set(command, flags);
}

/** The flags of the help, made once for a command. */
export async function flagsOf(command: Command): Promise<readonly Flag[]> {
  const flags = known.get(command) ?? (await makeFlags(command));
  known.set(command, flags);
  return flags;
}

async function makeFlags(command: Command): Promise<Flag[]> {
  const { inputSchema } = await import("./input-schema.ts");
  const { properties = {}, required = [] } = inputSchema(command.op);
  const flags = Object.entries(properties).map(([key, schema]) => {
    const short = command.shorts?.[key];
    const placeholder = command.placeholders?.[key];
    const needed = required.includes(key);
    const flag = { ...flagFrom(key, schema as Schema, needed), short };
    const name = command.names?.[key] ?? flag.name;
    return { ...flag, name, placeholder: placeholder ?? placeholderFor(flag, name) };
  });
  return [...flags, ...extrasOf(command, false)];
}

function extrasOf({ flags = {} }: Command, hidden: boolean): Flag[] {
  return Object.entries(flags)
    .filter(([, extra]) => (extra.hidden === true) === hidden)
    .map(([name, extra]) => extraFlag(name, extra));
}

function extraFlag(name: string, extra: ExtraFlag): Flag {
  return {
    name,
    key: name,
    kind: extra.kind,
    describe: extra.describe,
    required: false,
    placeholder: extra.placeholder ?? "",
    short: extra.short,
  };
}

function flagFrom(key: string, schema: Schema, required: boolean): Flag {
  // What may be null is a choice of two.
  const inner = schema.anyOf?.find(({ type }) => type !== "null") ?? schema;
  const { type, items } = inner;
  const choices = inner.enum ?? items?.enum;
  const kind = (typeof type === "string" && KINDS[type]) || "string";
  return {
    name: spelled(key),
    key,
    kind,
    required,
    describe: schema.description ?? inner.description ?? "",
    placeholder: "",
    choices,
  };
}

function spelled(key: string): string {
  return key.replaceAll("_", "-");
}

/** Spellings that work and are in no help, with the name of the flag. */
function aliasesOf({ names = {}, aliases = {} }: Command): Map<string, string> {
  const old = Object.entries(names).map(([key, name]) => [spelled(key), name] as const);
  return new Map([...Object.entries(aliases), ...old]);
}

const KINDS: Record<string, FlagKind> = {
  boolean: "boolean",
  number: "number",
  integer: "number",
  array: "list",
  object: "json",
};

/** The values of flags, by their placeholder; any other flag's is its name in capitals. */
const PLACEHOLDERS: Record<string, readonly string[]> = {
  ID: ["id", "parent", "next-task-id"],
  NAME: ["worker", "agent", "by"],
  PATH: ["handler", "socket"],
  DIR: ["state-dir", "crew", "workdir", "unit-dir"],
  FILE: ["config", "board", "lifecycle", "html"],
  "FILE,…": ["watch"],
  "ID,…": ["depends-on"],
  "TYPE,…": ["types"],
  "STATE,…": ["state", "states"],
  "URL,…": ["origins"],
  CMD: ["command", "done-when", "run-if"],
  TIME: ["not-before", "deadline", "retry-at", "since", "until"],
  DURATION: [
    ...["grace", "boot-grace", "kill-after", "stale-after", "timeout", "for", "stagger"],
    ...["poll-interval", "heartbeat-interval", "interval", "patience", "keep-logs"],
  ],
  TEXT: ["note", "fingerprint", "next-step", "risk", "summary"],
  WORD: ["role"],
  KIND: ["outcome", "group-by"],
  TIER: ["tier-hint"],
  STATE: ["to"],
  USD: ["budget-usd-day"],
  "N|none": ["max"],
  JSON: ["metadata"],
  "JSON|@FILE": ["payload"],
};
const placeholders = new Map(
  Object.entries(PLACEHOLDERS).flatMap(([word, names]) => names.map((name) => [name, word])),
);

function placeholderFor({ kind, choices = [] }: Flag, name: string): string {
  if (kind === "boolean") return "";
  if (kind === "string" && choices.length > 0 && choices.length <= 3) return choices.join("|");
  const byKind = { number: "N", json: "JSON", list: "a,b", string: name.toUpperCase() };
  return placeholders.get(name) ?? byKind[kind];
}

export interface Parsed {
  values: Record<string, unknown>;
  positionals: string[];
}

/** Reads the arguments after the command's name. Mistakes become USAGE errors with a suggestion. */
export async function parseFlags(
  name: string,
  command: Command,
  args: readonly string[],
): Promise<Parsed> {
  const flags = [...(await flagsOf(command)), ...GLOBAL_FLAGS];
  const all = [...flags, ...extrasOf(command, true)];
  const byName = new Map(all.map((flag) => [flag.name, flag]));
  const options = Object.fromEntries(
    all.map((flag) => [
      flag.name,
      {
        type: flag.kind === "boolean" ? ("boolean" as const) : ("string" as const),
        ...(flag.short ? { short: flag.short } : {}),
      },
    ]),
  );
  const aliases = aliasesOf(command);
  for (const [alias, meant] of aliases) {
    const option = options[meant];
    if (option !== undefined) options[alias] ??= { type: option.type };
  }
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const parsed: Parsed = { values: {}, positionals: [] };
  for (const token of tokens) {
    if (token.kind === "positional") parsed.positionals.push(token.value);
    if (token.kind !== "option") continue;
    const flag = byName.get(token.name) ?? byName.get(aliases.get(token.name) ?? "");
    if (!flag) throw unknownFlag(name, token.rawName, flags);
    if (flag.kind === "boolean") {
      if (token.value !== undefined) throw usage(`${token.rawName} takes no value.`);
      parsed.values[flag.key] = true;
      continue;
    }
    const missing = token.value === undefined || (!token.inlineValue && /^--\w/.test(token.value));
    if (missing)
      throw usage(`${token.rawName} needs a value: ${token.rawName} ${flag.placeholder}`);
    // A mistake is reported with the spelling that was used.
    addValue(parsed.values, { ...flag, name: token.name }, token.value as string);
  }
  placePositionals(name, command, parsed);
  return parsed;
}

function addValue(values: Record<string, unknown>, flag: Flag, text: string): void {
  if (flag.kind === "list") {
    const items = text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
    if (items.length === 0)
      throw usage(`--${flag.name} is empty; leave it out, or give it a value.`);
    for (const item of items) checkChoice(flag, item);
    values[flag.key] = [...((values[flag.key] as string[]) ?? []), ...items];
    return;
  }
  checkChoice(flag, text);
  if (flag.kind === "number") {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (Number.isNaN(value)) throw usage(`--${flag.name} ${JSON.stringify(text)} is not a number.`);
    values[flag.key] = value;
  } else if (flag.kind === "json") {
    const value = parseUserJson(fromFile(text, flag), `--${flag.name}`);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new VivError("INVALID", `--${flag.name} must be a JSON object, like '{"goal":"…"}'.`);
    }
    values[flag.key] = value;
  } else values[flag.key] = text;
}

/** `@FILE` is what is in the file, `@-` what comes on standard input; anything else is itself. */
function fromFile(text: string, flag: Flag): string {
  if (!text.startsWith("@")) return text;
  const file = text.slice(1);
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    const message = `--${flag.name} cannot read ${file}: ${(cause as Error).message}`;
    throw new VivError("INVALID", message, {}, { cause });
  }
}

function checkChoice(flag: Flag, text: string): void {
  if (!flag.choices || flag.choices.includes(text)) return;
  const meant = suggest(text, flag.choices);
  const hint = meant ? `did you mean ${meant}?` : `choose from ${flag.choices.join(", ")}.`;
  throw usage(`--${flag.name} ${JSON.stringify(text)} is not known; ${hint}`);
}

function placePositionals(name: string, command: Command, parsed: Parsed): void {
  const slots = command.positionals ?? [];
  const rest = [...parsed.positionals];
  for (const { key, many } of slots) {
    if (many && rest.length > 0) {
      parsed.values[key] = [...((parsed.values[key] as string[]) ?? []), ...rest.splice(0)];
    } else if (rest.length > 0 && parsed.values[key] === undefined)
      parsed.values[key] = rest.shift();
  }
  if (rest.length > 0) {
    throw usage(
      `viv ${name} does not know what to do with ${JSON.stringify(rest[0])}; see: viv ${name} --help`,
    );
  }
}

function unknownFlag(name: string, raw: string, flags: readonly Flag[]): VivError {
  const meant = suggest(
    raw.replace(/^-+/, ""),
    flags.map((flag) => flag.name),
  );
  return usage(
    `viv ${name} has no flag ${raw}; ${meant ? `did you mean --${meant}?` : `see: viv ${name} --help`}`,
  );
}

function usage(message: string): VivError {
  return new VivError("USAGE", message);
}
