import { nearest } from "../base/config-table.ts";
import { parseDuration } from "../base/duration.ts";
import { isVivError } from "../base/errors.ts";
import type { Section } from "../base/section.ts";
import { shown } from "../base/text.ts";

/** The keys of `[crew]` for the whole crew; the path is as it is written. */
export interface CrewSettings {
  staggerMs?: number;
  graceMs?: number;
  maxConcurrent?: number;
  state?: string;
  /** Of /_activity. */
  port?: number;
  /** Web pages that may read it. */
  origins?: string[];
}

export const CREW_KEYS = ["stagger", "grace", "max_concurrent", "state", "port", "origins"];

export const AN_ORIGIN = "an origin, like https://news.example: no path, no *";

/** `[crew]` of viv.toml. Its mistakes are in the crew's log: see manifest.ts. */
export const crewSection: Section<CrewSettings | undefined> = (top) => {
  const crew = top.table("crew");
  const plain = crew?.keys.filter((key) => !crew.hasTable(key));
  return plain && settingsFrom(new Map(plain.map((key) => [key, crew?.get(key)])), () => {});
};

/** Reads the keys of `[crew]` that are no tables. For one that is wrong, the default counts. */
export function settingsFrom(
  values: ReadonlyMap<string, unknown>,
  warn: (key: string, what: string) => void,
): CrewSettings {
  const settings: CrewSettings = {};
  for (const [key, value] of values) {
    const name = key.toLowerCase().replaceAll("-", "_");
    const read = <T>(checked: T | undefined, what: string): T | undefined => {
      if (checked === undefined) warn(key, `${key} must be ${what}; the default counts.`);
      return checked;
    };
    if (name === "stagger" || name === "grace") {
      settings[`${name}Ms`] = read(durationFrom(value), 'a duration with its unit, like "30s"');
    } else if (name === "max_concurrent") {
      settings.maxConcurrent = read(wholeFrom(value, 1), "a whole number, at least 1");
    } else if (name === "port") {
      settings.port = read(wholeFrom(value, 0, 65_535), "a port, 0 for any free one");
    } else if (name === "origins") {
      const all = Array.isArray(value) ? value : [value];
      const areOrigins = all.every((one) => typeof one === "string" && isOrigin(one));
      settings.origins = read(
        areOrigins ? (all as string[]) : undefined,
        `a list, each ${AN_ORIGIN}`,
      );
    } else if (name === "state") {
      const isPath = typeof value === "string" && value.trim() !== "" && !value.includes("\0");
      settings.state = read(isPath ? value : undefined, "the path of a directory");
    } else {
      const meant = nearest(name, CREW_KEYS);
      const hint = meant ? `did you mean ${meant}?` : "a member is a table, like [crew.moss].";
      warn(key, `unknown key ${shown(key)} in [crew]; ${hint}`);
    }
  }
  return settings;
}

function wholeFrom(value: unknown, least: number, most = Number.MAX_SAFE_INTEGER) {
  const isWhole = typeof value === "number" && Number.isSafeInteger(value);
  return isWhole && value >= least && value <= most ? value : undefined;
}

/** Bare digits are milliseconds in a member's INTERVAL and seconds in viv.toml: here only 0 is clear. */
function durationFrom(value: unknown): number | undefined {
  if (value === 0 || value === "0") return 0;
  if (typeof value !== "string" || /^\s*[\d.]+\s*$/.test(value)) return undefined;
  try {
    return parseDuration(value);
  } catch (error) {
    if (isVivError(error, "INVALID")) return undefined;
    throw error;
  }
}

/** As a browser sends it: a scheme, a host, a port unless it is the usual one; nothing behind. */
export function isOrigin(text: string): boolean {
  const url = /^https?:\/\/[^/*]+$/.test(text) && URL.canParse(text) ? new URL(text) : null;
  return url !== null && url.origin === text;
}
