import { dirname, join, resolve } from "node:path";
import { parseOptionalDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import type { Context, Env, Here } from "../operation/operation.ts";
import { type CrewChoice, startManifest } from "./assemble.ts";
import { AN_ORIGIN, type CrewSettings, crewSection, isOrigin } from "./config.ts";
import { type CrewPorts, crewPort } from "./crew-ports.ts";
import { DEFAULT_INTERVAL_MS, MODES } from "./member-definition.ts";
import type { KeeperSettings } from "./member-status.ts";
import type { CrewUpInput, KeeperUpInput } from "./operations.ts";

export type Wanted = { kind: "crew" | "keeper" } & CrewUpInput & KeeperUpInput;

export async function chooseCrew(context: Context, wanted: Wanted): Promise<CrewChoice> {
  const choice = chosen(context.here, await context.use(crewPort), wanted);
  if (choice !== null) return choice;
  const what =
    wanted.kind === "crew"
      ? "which crew? Pass its manifest: viv crew up crew.org (or set WB_CREW_DEF, or write [crew.NAME] into viv.toml)."
      : "which def? Pass it: viv keeper up desk.org (or set WB_KEEPER_DEF).";
  throw new VivError("USAGE", what);
}

/** The crew that a plain `viv up` starts; null: no crew and no keeper. */
export async function chooseFromSurroundings(
  context: Pick<Context, "here" | "use">,
): Promise<CrewChoice | null> {
  return chosen(context.here, await context.use(crewPort), { kind: "crew" });
}

/** The crew that a state folder belongs to, as it was last started. */
export async function chooseAgain({ here, use }: Context, state: string): Promise<CrewChoice> {
  const ports = await use(crewPort);
  const crew = ports.filesIn(state).crew();
  if (!crew?.manifest) {
    throw new VivError("RUN_NOT_FOUND", `${state} names no crew; start one: viv crew up`);
  }
  const wanted: Wanted = crew.singleton
    ? { kind: "keeper", ...crew.keeper, def: crew.manifest, state }
    : { kind: "crew", manifest: crew.manifest, state };
  return chosen(here, ports, wanted) as CrewChoice;
}

function chosen(here: Here, ports: CrewPorts, wanted: Wanted): CrewChoice | null {
  const { config, cwd } = here;
  const settings = config?.section(crewSection);
  const start = crewStart({
    ...{ env: here.env, wanted },
    config: config && settings ? { file: config.file, settings } : null,
    isActive: (file) => startManifest(resolve(cwd, file), here, ports).members.length > 0,
  });
  if (start === null) return null;
  const file = resolve(cwd, start.file);
  // A path in viv.toml is relative to that file.
  const base = wanted.state === undefined ? (config?.folder ?? cwd) : cwd;
  const state = start.state === null ? join(dirname(file), ".crew") : resolve(base, start.state);
  const keeper = wanted.kind === "keeper" ? keeperFrom(wanted, cwd) : {};
  const port = wanted.port ?? settings?.port ?? null;
  const origins = wanted.origins?.map(assertOrigin) ?? settings?.origins ?? [];
  return { ...start, file, state, port, origins, keeper };
}

function assertOrigin(text: string): string {
  if (isOrigin(text)) return text;
  throw new VivError("USAGE", `--origins ${JSON.stringify(text)} must be ${AN_ORIGIN}.`);
}

/** Paths on the command line are relative to where it is typed, not to the def. */
function keeperFrom(wanted: KeeperUpInput, cwd: string): KeeperSettings {
  const { engine, command, model, lifecycle, workdir, run_if, budget_usd_day, continuous } = wanted;
  const path = (given: string | undefined) => (given === undefined ? given : resolve(cwd, given));
  return {
    ...{ engine, command, model, run_if, budget_usd_day, continuous },
    ...{ lifecycle: path(lifecycle), workdir: path(workdir) },
  };
}

export interface StartInput {
  env: Env;
  wanted: Wanted;
  /** The viv.toml, if it has a `[crew]`; the paths are absolute. */
  config: { file: string; settings: CrewSettings } | null;
  /** Whether that manifest has a member with a def. */
  isActive(file: string): boolean;
}

const GRACE_MS = 60_000;
const STAGGER_MS = 30_000;
const MAX_CONCURRENT = 2;

/**
 * Which crew or keeper starts, and with which settings: the one named on the command line; then
 * `WB_CREW_DEF`, then `WB_KEEPER_DEF`, then `[crew]` in viv.toml. Never both. A crew without members
 * is passed over, unless it was named; then its start fails. Null: neither starts. `file` is as it
 * was written; a null `state` is `.crew` beside it. Throws INVALID for an invalid setting.
 */
export function crewStart(input: StartInput) {
  const { env, wanted, config } = input;
  const graceMs = parseOptionalDuration(wanted.grace, "--boot-grace");
  const staggerMs = parseOptionalDuration(wanted.stagger, "--stagger");
  const intervalMs = parseOptionalDuration(wanted.interval, "--interval");
  const chosen = fileFrom(input);
  if (chosen === null) return null;
  const file: CrewSettings = config?.settings ?? {};
  const whole = (name: string, least: number) => wholeFrom(env, name, least);
  const mode = modeFrom("--mode", wanted.mode) ?? modeFrom("WB_KEEPER_MODE", env.WB_KEEPER_MODE);
  return {
    ...chosen,
    state: wanted.state ?? file.state ?? null,
    graceMs: graceMs ?? file.graceMs ?? GRACE_MS,
    staggerMs: staggerMs ?? whole("WB_CREW_STAGGER_MS", 0) ?? file.staggerMs ?? STAGGER_MS,
    maxConcurrent:
      wanted.max_concurrent ??
      whole("WB_CREW_MAX_CONCURRENT", 1) ??
      file.maxConcurrent ??
      MAX_CONCURRENT,
    intervalMs: intervalMs ?? whole("WB_KEEPER_INTERVAL_MS", 1) ?? DEFAULT_INTERVAL_MS,
    mode: mode ?? "plan",
    isModeGiven: mode !== undefined,
  };
}

function fileFrom({ env, wanted, config, isActive }: StartInput) {
  const isSingleton = wanted.kind === "keeper";
  const named = isSingleton ? wanted.def : wanted.manifest;
  const crew = isSingleton ? undefined : env.WB_CREW_DEF?.trim();
  const keeper = env.WB_KEEPER_DEF?.trim();
  if (named !== undefined) return { file: named, isSingleton };
  if (crew && isActive(crew)) return { file: crew, isSingleton: false };
  if (keeper) return { file: keeper, isSingleton: true };
  return config && isActive(config.file) ? { file: config.file, isSingleton: false } : null;
}

/** An empty variable counts as unset. */
function wholeFrom(env: Env, name: string, least: number): number | undefined {
  const written = env[name]?.trim();
  if (!written) return undefined;
  const value = /^\d+$/.test(written) ? Number(written) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  const what = `must be a whole number, at least ${least}`;
  throw new VivError("INVALID", `${name} ${JSON.stringify(written.slice(0, 40))} ${what}.`);
}

function modeFrom(name: string, written: string | undefined): CrewChoice["mode"] | undefined {
  const value = written?.trim();
  if (!value) return undefined;
  const mode = MODES.find((one) => one === value.toLowerCase());
  if (mode !== undefined) return mode;
  const shown = JSON.stringify(value.slice(0, 40));
  throw new VivError("INVALID", `${name} ${shown} must be ${MODES.join(" or ")}.`);
}
