import { dirname, join, resolve } from "node:path";
import { parseOptionalDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import type { Context, Here } from "../operation/operation.ts";
import {
  type CrewChoice,
  crewSurroundings,
  type KeeperSettings,
  readManifest,
} from "./assemble.ts";
import type { CrewPorts } from "./crew-ports.ts";
import { isActive } from "./manifest.ts";
import type { CrewUpInput, KeeperUpInput } from "./operations.ts";
import { crewSection } from "./settings.ts";
import { crewStart, type StartFlags } from "./startup.ts";

/** Which crew or keeper these flags, this environment and this viv.toml mean. */
export type Wanted = ({ kind: "crew" } & CrewUpInput) | ({ kind: "keeper" } & KeeperUpInput);

export async function chooseCrew(context: Context, wanted: Wanted): Promise<CrewChoice> {
  const { here, ports } = await crewSurroundings(context);
  const choice = chosen(here, ports, wanted);
  if (choice !== null) return choice;
  const what =
    wanted.kind === "crew"
      ? "which crew? Pass its manifest: viv crew up crew.org (or set WB_CREW_DEF, or write [crew.NAME] into viv.toml)."
      : "which def? Pass it: viv keeper up desk.org (or set WB_KEEPER_DEF).";
  throw new VivError("USAGE", what);
}

/** What plain `viv up` means where there is no agents.toml; null: no crew and no keeper. */
export async function chooseFromSurroundings(context: Context): Promise<CrewChoice | null> {
  const { here, ports } = await crewSurroundings(context);
  if (ports.isThere(join(here.cwd, "agents.toml"))) return null;
  return chosen(here, ports, { kind: "crew" });
}

/** The crew that a state folder belongs to, as it was last started. */
export async function chooseAgain(context: Context, state: string): Promise<CrewChoice> {
  const { here, ports } = await crewSurroundings(context);
  const crew = ports.filesIn(state).readJson("crew") as CrewJson | null;
  if (!crew?.manifest) {
    throw new VivError("RUN_NOT_FOUND", `${state} does not say whose it is; start: viv crew up`);
  }
  const wanted: Wanted = crew.singleton
    ? { kind: "keeper", ...crew.keeper, def: crew.manifest, state }
    : { kind: "crew", manifest: crew.manifest, state };
  return chosen(here, ports, wanted) as CrewChoice;
}

interface CrewJson {
  manifest?: string;
  singleton?: boolean;
  keeper?: KeeperSettings & Pick<KeeperUpInput, "mode">;
}

function chosen(here: Here, ports: CrewPorts, wanted: Wanted): CrewChoice | null {
  const { config } = here;
  const settings = config?.section(crewSection);
  const start = crewStart({
    env: wanted.kind === "keeper" ? { ...here.env, WB_CREW_DEF: "" } : here.env,
    flags: flagsFrom(wanted),
    config: config && settings ? { file: config.file, settings } : null,
    isActive: (file) => {
      const path = resolve(here.cwd, file);
      return isActive(readManifest({ file: path, isSingleton: false }, ports));
    },
  });
  if (start === null) return null;
  const file = resolve(here.cwd, start.file);
  const fromFile = start.state !== null && wanted.state === undefined;
  const stateBase = fromFile ? (config?.folder ?? here.cwd) : here.cwd;
  const state =
    start.state === null ? join(dirname(file), ".crew") : resolve(stateBase, start.state);
  const { graceMs, staggerMs, maxConcurrent, intervalMs, mode, isSingleton } = start;
  return {
    ...{ file, state, graceMs, staggerMs, maxConcurrent, intervalMs, mode, isSingleton },
    port: wanted.port ?? settings?.port ?? null,
    keeper: wanted.kind === "keeper" ? keeperFrom(wanted, here.cwd) : {},
  };
}

/** Paths on the command line are relative to where it is typed, not to the def. */
function keeperFrom(wanted: KeeperUpInput, cwd: string): KeeperSettings {
  const { engine, command, model, lifecycle, workdir, run_if, budget_usd_day, continuous } = wanted;
  const given = {
    ...{ engine, command, model, run_if, budget_usd_day, continuous },
    lifecycle: lifecycle === undefined ? undefined : resolve(cwd, lifecycle),
    workdir: workdir === undefined ? undefined : resolve(cwd, workdir),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function flagsFrom(wanted: Wanted): StartFlags {
  const { grace, state } = wanted;
  const flags: StartFlags = { graceMs: parseOptionalDuration(grace, "--grace"), state };
  if (wanted.kind === "crew") {
    const { manifest, stagger, max_concurrent } = wanted;
    const staggerMs = parseOptionalDuration(stagger, "--stagger");
    return { ...flags, crew: manifest, staggerMs, maxConcurrent: max_concurrent };
  }
  const { def, interval, mode } = wanted;
  return { ...flags, keeper: def, intervalMs: parseOptionalDuration(interval, "--interval"), mode };
}
