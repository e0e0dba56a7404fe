import * as smolToml from "smol-toml";
import { isTable, nearest, parseToml } from "../base/config-table.ts";
import { VivError } from "../base/errors.ts";
import { shown } from "../base/shown.ts";
import { lineOf, type Place, placesOf } from "../base/toml-lines.ts";
import { scanOrg } from "../org/org.ts";
import { type Member, membersFrom, type RawMember } from "./member-definition.ts";
import { type CrewSettings, settingsFrom } from "./settings.ts";

export type { Member } from "./member-definition.ts";
export type { CrewSettings } from "./settings.ts";

/** Who is in a crew. A member with a mistake is in it, parked; the log tells what was dropped, and why. */
export interface Manifest {
  members: Member[];
  /** `file:line: what`. */
  log: string[];
  /** Of a TOML manifest. */
  settings?: CrewSettings;
}

/** A crew counts only if somebody is in it; who has no def is not. */
export function isActive(manifest: Manifest): boolean {
  return manifest.members.length > 0;
}

/** Throws INVALID only for what cannot be read as a manifest at all: not TOML, or in conflict. */
export function parseManifest(
  text: string,
  { file, format }: { file: string; format: "org" | "toml" },
): Manifest {
  if (format === "org") return fromOrg(text, file);
  const values = parseToml(smolToml, text, file);
  const places = placesOf(text);
  const log = new Log(file);
  for (const key of Object.keys(values)) {
    if (key === "crew") continue;
    const meant = nearest(key, ["crew"]);
    const hint = meant ? `did you mean "${meant}"?` : "a member is a table, like [crew.moss].";
    log.add(lineOf(places, [key]), `unknown key ${shown(key)}; ${hint}`);
  }
  const manifest = crewFromTable(Object.hasOwn(values, "crew") ? values.crew : {}, {
    file,
    places,
  });
  return { ...manifest, log: [...log.lines(), ...manifest.log] };
}

/** A `[crew]` that a parser has read, in viv.toml or a file of its own; `places` are of the whole text. */
export function crewFromTable(
  crew: unknown,
  { file, places }: { file: string; places: Place },
): Manifest {
  const log = new Log(file);
  if (!isTable(crew)) {
    log.add(
      lineOf(places, ["crew"]),
      "crew must be a table, with one for each member: [crew.moss].",
    );
    return { members: [], log: log.lines(), settings: {} };
  }
  const raws: RawMember[] = [];
  const others = new Map<string, unknown>();
  for (const [name, value] of Object.entries(crew)) {
    if (!isTable(value)) {
      others.set(name, value);
      continue;
    }
    const fields = Object.entries(value).map(([key, inner]) => ({
      name: key,
      shown: key,
      value: inner,
      line: lineOf(places, ["crew", name, key]),
    }));
    raws.push({ name, line: lineOf(places, ["crew", name]), fields });
  }
  const settings = settingsFrom(others, (key, what) =>
    log.add(lineOf(places, ["crew", key]), what),
  );
  // An object has keys like "1" before all others; the file's order is that of its lines.
  raws.sort((a, b) => a.line - b.line);
  const members = membersFrom(raws, (line, what) => log.add(line, what));
  return { members, log: log.lines(), settings };
}

function fromOrg(text: string, file: string): Manifest {
  const org = scanOrg(text);
  if (org.conflictLine !== null) {
    const message = `${file}:${org.conflictLine}: there is a conflict marker of git; resolve it first.`;
    throw new VivError("INVALID", message);
  }
  const log = new Log(file);
  const raws: RawMember[] = [];
  for (const heading of org.headings) {
    if (heading.level !== 1) continue;
    const { title: name, line, properties, strays } = heading;
    for (const stray of strays) {
      log.add(stray, `${name}: this is no property; write it like :DEF: file.`);
    }
    const fields = properties.map((property) => ({
      name: property.name,
      shown: `:${property.name}:`,
      value: property.value,
      line: property.line,
    }));
    raws.push({ name, line, fields });
  }
  const members = membersFrom(raws, (line, what) => log.add(line, what));
  return { members, log: log.lines() };
}

class Log {
  readonly #file: string;
  readonly #lines: { line: number; what: string }[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  add(line: number, what: string): void {
    this.#lines.push({ line, what });
  }

  lines(): string[] {
    const sorted = this.#lines.sort((a, b) => a.line - b.line);
    return sorted.map(({ line, what }) => `${this.#file}:${line}: ${what}`);
  }
}
