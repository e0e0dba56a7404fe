import type { ClaimTree, Machine } from "../base/clock.ts";
import { isVivError } from "../base/errors.ts";
import { nearest } from "../base/names.ts";
import type { Store } from "../queue/store.ts";
import type { AgentDirectory, AgentEntry } from "./directory.ts";
import type { BoundProcess, TargetKind } from "./warrant.ts";

/** The process of a worker or an agent, and the files that grow when it makes progress. */
export type Resolved =
  /** `questionLink`: where the agent looks for a question. */
  | { is: "there"; bound: BoundProcess; watch: string[]; questionLink?: string }
  /** "unknown": another machine, or no process of its own. */
  | { is: "gone" | "unknown"; why: string };

/** The worker's registered process, and the logs of its claims. */
export async function resolveWorker(
  store: Store,
  name: string,
  machine: Pick<Machine, "vitality">,
): Promise<Resolved> {
  const workers = await store.workers();
  const found = workers.find((one) => one.name === name);
  if (found === undefined) {
    const names = workers.map((one) => one.name);
    const why = `there is no worker ${name} in ${store.location}${nearest(name, names)}`;
    return { is: "gone", why };
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

export function resolveAgent(entry: AgentEntry, machine: Pick<Machine, "vitality">): Resolved {
  const { name, state, since, process, runsAs, log, questionLink } = entry;
  if (process === null) {
    return { is: "gone", why: `${name} has no process now (${state} since ${since})` };
  }
  const what = runsAs === "run" ? `the run of ${name}` : `agent ${name}`;
  const found = bind(process, what, log === null ? [] : [log], machine);
  return found.is === "there" && questionLink !== null ? { ...found, questionLink } : found;
}

export interface Lookup {
  machine: Pick<Machine, "vitality">;
  openRun(path: string): Promise<Store>;
  directory: AgentDirectory;
}

/** The worker of a run, or the agent of a crew or a pit, that a warrant names. */
export async function resolveTarget(
  { machine, openRun, directory }: Lookup,
  kind: TargetKind,
  name: string,
  home: string | null,
): Promise<Resolved> {
  if (home === null) {
    return { is: "unknown", why: `the warrant does not say where ${kind} ${name} is (home)` };
  }
  if (kind === "agent") {
    const entry = directory.crew(home).find(name) ?? directory.fleet(home).find(name);
    if (entry === null) return { is: "gone", why: `there is no agent ${name} in ${home}` };
    return resolveAgent(entry, machine);
  }
  let store: Store;
  try {
    store = await openRun(home);
  } catch (error) {
    if (!isVivError(error)) throw error;
    return { is: error.code === "RUN_NOT_FOUND" ? "gone" : "unknown", why: error.message };
  }
  try {
    return await resolveWorker(store, name, machine);
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
