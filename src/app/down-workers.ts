import type { Config } from "../base/section.ts";
import { quoted } from "../base/text.ts";
import { parseAgents } from "../fleet/agents.ts";
import { fleetSection } from "../fleet/config.ts";
import { fleetFilesIn } from "../fleet/fleet-files.ts";
import { upFilesIn } from "../fleet/up-files.ts";
import { isRunning } from "../fleet/ups.ts";
import { readTrusted } from "../platform/files/owned.ts";
import { localMachine } from "../platform/processes/machine.ts";
import type { DownWorker } from "../work/why.ts";

const DOWN = ["parked", "resting", "starting"] as const;
const START_ANEW = "viv down && viv up --detach";
const agentsAnew = (file: string) => `viv down -c ${file} && viv up -c ${file} --detach`;

/** Workers that the `viv up` of this run keeps, and that have no process now, or not yet. */
export async function downWorkers(run: string, config: Config | undefined): Promise<DownWorker[]> {
  const machine = localMachine();
  const fleet = fleetFilesIn(run).read();
  const isFleet = fleet !== null && isRunning(fleet, machine);
  const groups = config?.section(fleetSection).workers ?? [];
  const typesOf = (name: string) => groups.find((one) => isOf(one.name, name))?.types ?? null;
  const workers = (isFleet ? fleet.parts : []).flatMap(({ name, kind, state, note }) =>
    kind === "worker" ? oneDown(name, state, note, typesOf(name), START_ANEW) : [],
  );
  const files = upFilesIn(run);
  const service = files.service();
  if (service === null || !isRunning(service, machine)) return workers;
  const file = service.config;
  const declared = await agentsIn(file).catch(() => null); // gone, or not to be used: types unknown
  const command = isFleet ? START_ANEW : agentsAnew(quoted(file));
  const agents = files.names().flatMap((name) => {
    const agent = files.agent(name);
    const worker = declared?.agents.find((one) => one.name === name)?.worker;
    if (agent === null || worker === undefined) return [];
    return oneDown(name, agent.state, agent.note, worker.takes, command);
  });
  return [...workers, ...agents];
}

async function agentsIn(file: string) {
  return parseAgents(readTrusted(file), file);
}

const isOf = (group: string, name: string) => name.replace(/-\d+$/, "") === group;

function oneDown(
  name: string,
  given: string,
  note: string,
  types: readonly string[] | null,
  command: string,
): DownWorker[] {
  const state = DOWN.find((one) => one === given);
  return state === undefined ? [] : [{ name, state, note, types, command }];
}
