import * as smolToml from "smol-toml";
import { isTable, nearest, parseToml } from "../base/config-table.ts";
import { VivError } from "../base/errors.ts";
import { shown } from "../base/text.ts";
import { lineOf, type Place, placesOf } from "../base/toml-lines.ts";
import { scanOrg } from "../org/org.ts";
import { settingsFrom } from "./config.ts";
import { type Member, membersFrom, type RawMember } from "./member-definition.ts";

export type { Member } from "./member-definition.ts";

/** The members of a crew. One with a mistake is parked; the log lists the dropped parts with their reasons. */
export interface Manifest {
  members: Member[];
  /** `file:line: what`. */
  log: string[];
  /** The file has another content by now, which may have mistakes. */
  isOld?: true;
}

/** Throws INVALID only when the text is no manifest at all: not TOML, or in conflict. */
export function parseManifest(
  text: string,
  { file, format }: { file: string; format: "org" | "toml" },
): Manifest {
  if (format === "org") return fromOrg(text, file);
  const values = parseToml(smolToml, text, file);
  const places = placesOf(text);
  const log: LogLine[] = [];
  for (const key of Object.keys(values)) {
    if (key === "crew") continue;
    const meant = nearest(key, ["crew"]);
    const hint = meant ? `did you mean "${meant}"?` : "a member is a table, like [crew.moss].";
    log.push({ line: lineOf(places, [key]), what: `unknown key ${shown(key)}; ${hint}` });
  }
  const crew = Object.hasOwn(values, "crew") ? values.crew : {};
  const manifest = crewFromTable(crew, { file, places });
  return { ...manifest, log: [...sorted(file, log), ...manifest.log] };
}

/** A `[crew]` that a parser has read, in viv.toml or a file of its own; `places` are of the whole text. */
export function crewFromTable(
  crew: unknown,
  { file, places }: { file: string; places: Place },
): Manifest {
  const log: LogLine[] = [];
  const warn = (line: number, what: string) => log.push({ line, what });
  const lineIn = (...keys: string[]) => lineOf(places, ["crew", ...keys]);
  if (!isTable(crew)) {
    warn(lineIn(), "crew must be a table, with one for each member: [crew.moss].");
    return { members: [], log: sorted(file, log) };
  }
  const raws: RawMember[] = [];
  const others = new Map<string, unknown>();
  for (const [name, value] of Object.entries(crew)) {
    if (!isTable(value)) {
      others.set(name, value);
      continue;
    }
    const fields = Object.entries(value).map(([key, inner]) => ({
      ...{ name: key, shown: key, value: inner, line: lineIn(name, key) },
    }));
    raws.push({ name, line: lineIn(name), fields });
  }
  settingsFrom(others, (key, what) => warn(lineIn(key), what));
  // An object has keys like "1" before all others; the file's order is that of its lines.
  raws.sort((a, b) => a.line - b.line);
  const members = membersFrom(raws, warn);
  return { members, log: sorted(file, log) };
}

function fromOrg(text: string, file: string): Manifest {
  const org = scanOrg(text);
  if (org.conflictLine !== null) {
    const message = `${file}:${org.conflictLine}: there is a conflict marker of git; resolve it first.`;
    throw new VivError("INVALID", message);
  }
  const log: LogLine[] = [];
  const warn = (line: number, what: string) => log.push({ line, what });
  const headings = org.headings.filter(({ level }) => level === 1);
  const raws = headings.map(({ title: name, line, properties, strays }): RawMember => {
    for (const stray of strays) {
      warn(stray, `${name}: this is not a property; write it like :DEF: file.`);
    }
    const fields = properties.map((property) => ({ ...property, shown: `:${property.name}:` }));
    return { name, line, fields };
  });
  const members = membersFrom(raws, warn);
  return { members, log: sorted(file, log) };
}

interface LogLine {
  line: number;
  what: string;
}

function sorted(file: string, log: LogLine[]): string[] {
  return log.sort((a, b) => a.line - b.line).map(({ line, what }) => `${file}:${line}: ${what}`);
}
