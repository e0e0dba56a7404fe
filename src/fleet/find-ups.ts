import { dirname, join } from "node:path";
import { isVivError, type VivError } from "../base/errors.ts";
import { type Context, type RunPlace, runPlacePort } from "../operation/operation.ts";
import { type FleetPort, fleetPort } from "./fleet-ports.ts";
import { partsLeftBy } from "./leftovers.ts";
import { agentsFile, readAgents } from "./operations.ts";
import { type UpHost, upPort } from "./up-ports.ts";
import { agentsUp, fleetUp, type Up } from "./ups.ts";

/**
 * The `viv up`s that `viv ps` and `viv down` are about, the likeliest first; never none.
 *
 * - With `-c FILE`: the agents of that file.
 * - Else: the fleet of the run that is meant here, agents around that run if it is a pit, and the agents
 *   of `agents.toml` in this folder.
 *
 * A file with mistakes, one that is gone, or that names another run now, must not hide what runs: then it
 * is found by its own record of the file it was started with.
 */
export async function upsMeant(context: Context, config: string | undefined): Promise<Up[]> {
  const fleet = await context.use(fleetPort);
  const host = await context.use(upPort);
  if (config !== undefined) return [agentsUp(await pitOf(config, context, fleet, host), host)];
  const place = await placeMeant(context, fleet);
  const run = "path" in place ? place.path : null;
  const ups = run === null ? [] : [fleetUp(run, fleet), ...agentsAt(run, host)];
  const before = "path" in place ? fleet.startedWith(place.from) : null;
  if (before !== null && before !== run) ups.push(fleetUp(before, fleet));
  if (!("path" in place) || place.from !== "--run") {
    const pit = await pitHere(context, fleet, host, run === null);
    if (pit !== null && pit !== run) ups.push(agentsUp(pit, host));
  }
  if (ups.length > 0) return withoutParts(ups, fleet);
  throw (place as { error: VivError }).error;
}

/** Also where viv.toml has mistakes, or is gone: a fleet that runs must be seen, and can be stopped. */
async function placeMeant(
  context: Context,
  { runNamed }: FleetPort,
): Promise<Pick<RunPlace, "path" | "from"> | { error: unknown }> {
  try {
    return await context.use(runPlacePort);
  } catch (error) {
    if (!isVivError(error, "INVALID") && !isVivError(error, "USAGE")) throw error;
    const path = runNamed();
    return path === null ? { error } : { path, from: "" };
  }
}

/** Agents around a run, where some have been. */
function agentsAt(run: string, host: UpHost): Up[] {
  return host.filesIn(run).service() === null ? [] : [agentsUp(run, host)];
}

async function pitOf(
  config: string,
  { here }: Context,
  fleet: FleetPort,
  host: UpHost,
): Promise<string> {
  try {
    return (await readAgents(config, here, host)).pit.path;
  } catch (error) {
    const file = agentsFile(config, here);
    const pit = pitStartedWith(fleet, host, (one) => one === file);
    if (pit === null) throw error;
    return pit;
  }
}

/**
 * Of the agents.toml in this folder; without one, of a running service whose file lay here. Above this
 * folder only where no run is meant, as viv.toml is searched: else `viv down` in a project would stop
 * the agents of a folder around it.
 */
async function pitHere(
  context: Context,
  fleet: FleetPort,
  host: UpHost,
  mayBeAbove: boolean,
): Promise<string | null> {
  const { cwd } = context.here;
  const file = join(cwd, "agents.toml");
  try {
    return (await readAgents(file, context.here, host)).pit.path;
  } catch (error) {
    if (!isVivError(error)) throw error; // with a VivError: missing, or with mistakes
    const isAbove = (one: string) => `${cwd}/`.startsWith(`${dirname(one)}/`);
    const isHere = (one: string) => dirname(one) === cwd;
    return pitStartedWith(fleet, host, mayBeAbove ? isAbove : isHere);
  }
}

/** The nearest: the one with the longest path. */
function pitStartedWith(
  { knownRuns, machine }: FleetPort,
  host: UpHost,
  isMeant: (file: string) => boolean,
): string | null {
  const found = knownRuns().flatMap((pit) => {
    const last = host.filesIn(pit).service();
    const isIt = last !== null && isMeant(last.config) && machine.vitality(last) === "alive";
    return isIt ? [{ pit, depth: last.config.length }] : [];
  });
  return found.sort((a, b) => b.depth - a.depth)[0]?.pit ?? null;
}

/** Agents that are a part of a fleet are shown, and stopped, with it. */
function withoutParts(ups: Up[], fleet: FleetPort): Up[] {
  const owners = ups.filter(({ of }) => of === "fleet").map(({ run }) => run);
  return ups.filter((up) => up.of === "fleet" || !owners.some((run) => isPartOf(up, run, fleet)));
}

function isPartOf({ holder }: Up, run: string, { filesIn }: FleetPort): boolean {
  const parts = holder === null ? [] : partsLeftBy(filesIn(run).read());
  return parts.some(
    ({ process }) => process?.pid === holder?.pid && process?.started === holder?.started,
  );
}

/** The run whose fleet has these agents as a part; null: they were started by themselves. */
export function fleetAround(up: Up, fleet: FleetPort): string | null {
  if (up.of === "fleet") return null;
  return fleet.knownRuns().find((run) => isPartOf(up, run, fleet)) ?? null;
}
