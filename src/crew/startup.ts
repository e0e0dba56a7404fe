import { VivError } from "../base/errors.ts";
import type { CrewSettings } from "./manifest.ts";
import { DEFAULT_INTERVAL_MS, MODES } from "./member-definition.ts";

/**
 * Which crew or keeper starts, and with which settings: the one named on the command line; then
 * `WB_CREW_DEF`, then `WB_KEEPER_DEF`, then `[crew]` in viv.toml. Never both. A crew without members
 * is passed over, unless it was named; then its start fails.
 */
export interface StartInput {
  env: Readonly<Record<string, string | undefined>>;
  flags: StartFlags;
  /** The viv.toml, if it has a `[crew]`; the paths are absolute. */
  config: { file: string; settings: CrewSettings } | null;
  /** Whether that manifest has a member with a def. */
  isActive(file: string): boolean;
}

export interface StartFlags {
  /** The manifest, of `viv crew up FILE`. */
  crew?: string;
  /** The def, of `viv keeper up FILE`. */
  keeper?: string;
  graceMs?: number;
  staggerMs?: number;
  maxConcurrent?: number;
  state?: string;
  intervalMs?: number;
  mode?: string;
}

export interface CrewStart {
  /** As it was written: the manifest of a crew, or the def of the singleton. */
  file: string;
  isSingleton: boolean;
  /** The source: `the command line`, a variable, or the path of viv.toml. */
  from: string;
  /** Null: `.crew` beside the file. */
  state: string | null;
  graceMs: number;
  staggerMs: number;
  maxConcurrent: number;
  /** Of the singleton. */
  intervalMs: number;
  mode: (typeof MODES)[number];
}

const GRACE_MS = 60_000;
const STAGGER_MS = 30_000;
const MAX_CONCURRENT = 2;

/** Null: neither starts. Throws INVALID for an invalid setting. */
export function crewStart(input: StartInput): CrewStart | null {
  const { env, flags, config } = input;
  const chosen = choose(input);
  if (chosen === null) return null;
  const file: CrewSettings = config?.settings ?? {};
  const whole = (name: string, least: number) => wholeFrom(env, name, least);
  return {
    ...chosen,
    state: flags.state ?? file.state ?? null,
    graceMs: flags.graceMs ?? file.graceMs ?? GRACE_MS,
    staggerMs: flags.staggerMs ?? whole("WB_CREW_STAGGER_MS", 0) ?? file.staggerMs ?? STAGGER_MS,
    maxConcurrent:
      flags.maxConcurrent ??
      whole("WB_CREW_MAX_CONCURRENT", 1) ??
      file.maxConcurrent ??
      MAX_CONCURRENT,
    intervalMs: flags.intervalMs ?? whole("WB_KEEPER_INTERVAL_MS", 1) ?? DEFAULT_INTERVAL_MS,
    mode:
      modeFrom("--mode", flags.mode) ?? modeFrom("WB_KEEPER_MODE", env.WB_KEEPER_MODE) ?? "plan",
  };
}

type Chosen = Pick<CrewStart, "file" | "isSingleton" | "from">;

function choose({ env, flags, config, isActive }: StartInput): Chosen | null {
  const from = "the command line";
  if (flags.crew !== undefined && flags.keeper !== undefined) {
    throw new VivError("INVALID", "a crew and a keeper cannot both start; name one of them.");
  }
  if (flags.crew !== undefined) return { file: flags.crew, isSingleton: false, from };
  if (flags.keeper !== undefined) return { file: flags.keeper, isSingleton: true, from };
  const crew = env.WB_CREW_DEF?.trim();
  if (crew && isActive(crew)) return { file: crew, isSingleton: false, from: "WB_CREW_DEF" };
  const keeper = env.WB_KEEPER_DEF?.trim();
  if (keeper) return { file: keeper, isSingleton: true, from: "WB_KEEPER_DEF" };
  if (config && isActive(config.file)) {
    return { file: config.file, isSingleton: false, from: config.file };
  }
  return null;
}

/** An empty variable counts as unset. */
function wholeFrom(env: StartInput["env"], name: string, least: number): number | undefined {
  const written = env[name]?.trim();
  if (!written) return undefined;
  const value = /^\d+$/.test(written) ? Number(written) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  const what = `must be a whole number, at least ${least}`;
  throw new VivError("INVALID", `${name} ${JSON.stringify(written.slice(0, 40))} ${what}.`);
}

function modeFrom(name: string, written: string | undefined): CrewStart["mode"] | undefined {
  const value = written?.trim();
  if (!value) return undefined;
  const mode = MODES.find((one) => one === value.toLowerCase());
  if (mode !== undefined) return mode;
  const shown = JSON.stringify(value.slice(0, 40));
  throw new VivError("INVALID", `${name} ${shown} must be ${MODES.join(" or ")}.`);
}
