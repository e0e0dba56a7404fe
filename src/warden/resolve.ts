import type { ClaimTree, Machine } from "../base/clock.ts";
import { isVivError } from "../base/errors.ts";
import { isName, suggest } from "../base/names.ts";
import type { CrewFiles } from "../crew/files.ts";
import type { UpFiles } from "../fleet/up-files.ts";
import type { Store } from "../queue/store.ts";
import type { BoundProcess, TargetKind } from "./warrant.ts";

/** Which process a worker or an agent is, and whose growth is its progress. */
export type Resolved =
  /** `showAt`: where it looks for a question. */
  | { is: "there"; bound: BoundProcess; watch: string[]; showAt?: string }
  | { is: "gone"; why: string }
  /** It cannot be told: another machine, or nothing of that name. */
  | { is: "unknown"; why: string };

/** The worker's registered process, and the logs of its claims. */
export async function resolveWorker(
  store: Store,
  name: string,
  machine: Pick<Machine, "vitality">,
): Promise<Resolved> {
  const workers = await store.workers();
  const found = workers.find((one) => one.name === name);
  if (found === undefined) {
    return { is: "gone", why: missing("worker", name, store.location, workers.map(nameOf)) };
  }
  if (found.identity === undefined) {
    const why = `worker ${name} has no process of its own: its claims are made with one-shot commands (viv claim)`;
    return { is: "unknown", why };
  }
  const watch = found.claims.flatMap((id) => logOf(store, id) ?? []);
  return bind({ ...found.identity, claim: "" }, `worker ${name}`, watch, machine);
}

/** The file of a task's log; null when this host has none. */
export function logOf({ artifacts }: Pick<Store, "artifacts">, id: string): string | null {
  return artifacts.pathOnThisHost(`${id}.log`);
}

/** The run of a crew's member that is under way; null when the crew has no such member. */
export function resolveMember(
  files: CrewFiles,
  name: string,
  machine: Pick<Machine, "vitality">,
): Resolved | null {
  const key = isName(name) ? files.names().find((one) => one === name) : undefined;
  const status = files.status(key ?? "");
  // The singleton's file has no name in it, so that it is known by what is written there.
  if (status === null || (key === undefined && status.name !== name)) return null;
  if (status.run === null) {
    return { is: "gone", why: `${name} has no run now (${status.state} since ${status.since})` };
  }
  const log = files.latestLog(key ?? "");
  const found = bind(status.run, `the run of ${name}`, log === null ? [] : [log], machine);
  return found.is === "there" ? { ...found, showAt: files.questionPath(status.name) } : found;
}

/** An agent of a `viv up`: its worker, or its run; null when there is none of that name. */
export function resolveAgent(
  files: UpFiles,
  name: string,
  machine: Pick<Machine, "vitality">,
): Resolved | null {
  const state = isName(name) && files.names().includes(name) ? files.agent(name) : null;
  if (state === null) return null;
  if (state.run !== null) {
    return bind(state.run, `the run of ${name}`, [files.logOf(name, "run")], machine);
  }
  const { pid, started, boot, host } = state;
  if (pid === null || started === null || boot === null || host === null) {
    return { is: "gone", why: `${name} has no process now (${state.state} since ${state.since})` };
  }
  const process = { pid, started, boot, host, claim: "" };
  return bind(process, `agent ${name}`, [files.logOf(name, "worker")], machine);
}

/** What the machine has of runs, crews and pits. */
export interface Homes {
  machine: Pick<Machine, "vitality">;
  openRun(path: string): Promise<Store>;
  crewFilesIn(state: string): CrewFiles;
  upFilesIn(pit: string): UpFiles;
}

/** The worker of a run, or the agent of a crew or a pit, that a warrant names. */
export async function resolveTarget(
  homes: Homes,
  kind: TargetKind,
  name: string,
  home: string | null,
): Promise<Resolved> {
  if (home === null) {
    return { is: "unknown", why: `the warrant does not say where ${kind} ${name} is (home)` };
  }
  if (kind === "agent") {
    const { machine } = homes;
    const found =
      resolveMember(homes.crewFilesIn(home), name, machine) ??
      resolveAgent(homes.upFilesIn(home), name, machine);
    return found ?? { is: "gone", why: `there is no agent ${name} in ${home}` };
  }
  let store: Store;
  try {
    store = await homes.openRun(home);
  } catch (error) {
    if (!isVivError(error)) throw error;
    return { is: error.code === "RUN_NOT_FOUND" ? "gone" : "unknown", why: error.message };
  }
  try {
    return await resolveWorker(store, name, homes.machine);
  } finally {
    await store.close();
  }
}

function bind(
  tree: ClaimTree,
  what: string,
  watch: string[],
  machine: Pick<Machine, "vitality">,
): Resolved {
  const { host, boot, pid, started, claim } = tree;
  const vitality = machine.vitality(tree);
  if (vitality === "alive") {
    return { is: "there", bound: { is: "process", host, boot, pid, started, claim }, watch };
  }
  if (vitality === "gone") return { is: "gone", why: `${what} (pid ${pid}) has ended` };
  return { is: "unknown", why: `${what} (pid ${pid}) is on another machine: ${host}` };
}

export function missing(
  kind: string,
  name: string,
  where: string,
  names: readonly string[],
): string {
  const meant = suggest(name, names);
  const hint =
    meant !== undefined
      ? `; did you mean ${meant}?`
      : names.length === 0
        ? ""
        : `; there are: ${names.slice(0, 10).join(", ")}${names.length > 10 ? ", …" : ""}`;
  return `there is no ${kind} ${name} in ${where}${hint}`;
}

const nameOf = ({ name }: { name: string }) => name;
