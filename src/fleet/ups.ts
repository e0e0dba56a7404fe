import * as z from "zod/mini";
import type { Machine, ProcessIdentity } from "../base/clock.ts";
import type { FileLock } from "../platform/files/file-lock.ts";
import type { FleetState } from "./fleet-files.ts";
import type { FleetPort } from "./fleet-ports.ts";
import { endNow, leftoversOf, partsLeftBy } from "./leftovers.ts";
import type { AgentState, ServiceState } from "./up-files.ts";
import type { UpHost } from "./up-ports.ts";
import { lingering } from "./up-service.ts";

/**
 * The two kinds of `viv up` that leave a record in a run: its fleet (`.viv/up/fleet/state.json`), and
 * agents around a pit (`.viv/up/service.json`). Both are shown and stopped alike.
 */

const part = z.object({
  name: z.string(),
  /** As in `parts.ts`; `agent` where `of` is agents. */
  kind: z.string(),
  /** As in `fleet-files.ts` or `up-files.ts`, or `left over`. */
  state: z.string(),
  pid: z.nullable(z.number()),
  since: z.string(),
  restarts: z.number(),
  doing: z.string(),
  note: z.string(),
});
type ShownPart = z.output<typeof part>;

export const shownUp = z.object({
  of: z.enum(["fleet", "agents"]),
  run_dir: z.string(),
  running: z.boolean(),
  /** `starting working stopping`, or `not running`. */
  state: z.string(),
  pid: z.nullable(z.number()),
  host: z.nullable(z.string()),
  since: z.nullable(z.string()),
  /** The viv.toml, or the agents.toml. */
  config: z.nullable(z.string()),
  note: z.string(),
  address: z.nullable(z.string()),
  log: z.nullable(z.string()),
  parts: z.array(part),
});
export type ShownUp = z.output<typeof shownUp>;

export const NOT_RUNNING = "not running";
export const LEFT_OVER = "left over";

/** A `viv up`, as its files tell of it. */
export interface Up {
  of: ShownUp["of"];
  run: string;
  /** The process that runs it; null: none does, as far as this machine can tell. */
  holder: ProcessIdentity | null;
  shown(): Promise<ShownUp>;
  /** What earlier ones have left, and this one too if it is gone. */
  left(): Left[];
  /** Null: it has not heard of a stop. */
  stopping(): Promise<Stopping | null>;
  /** The right to ask it to stop; null while another `viv down` has it. */
  takeTurn(): Promise<FileLock | null>;
}

interface Left {
  part: string;
  process: ProcessIdentity;
}

interface Stopping {
  /** Names and work of what the stop still waits for. */
  working: string[];
  atOnce: boolean;
}

export function isRunning(last: ProcessIdentity & { state: string }, machine: Machine): boolean {
  const hasEnded = last.state === "stopped" || last.state === "ended";
  return !hasEnded && machine.vitality(last) !== "gone";
}

/** What both say of the process that runs, or ran, it. */
function headOf(
  last: FleetState | ServiceState | null,
  machine: Machine,
): Pick<ShownUp, "running" | "state" | "pid" | "host" | "since" | "config" | "note"> {
  if (last !== null && isRunning(last, machine)) {
    const { state, pid, host, since, config, note } = last;
    const isHere = machine.vitality(last) === "alive";
    const unverified = `last reported on ${host}; cannot be verified from this host`;
    return { running: true, state, pid, host, since, config, note: isHere ? note : unverified };
  }
  const isLost = last !== null && last.state !== "stopped" && last.state !== "ended";
  const note = isLost ? `pid ${last.pid} is gone and did not stop in order` : "";
  const { since = null } = last ?? {};
  return {
    ...{ running: false, state: NOT_RUNNING, pid: null, host: null, since, config: null, note },
  };
}

export function fleetUp(run: string, { filesIn, machine, addressIn }: FleetPort): Up {
  const files = filesIn(run);
  const first = files.read();
  const leftIn = (last: FleetState | null) => {
    const isUp = last !== null && isRunning(last, machine);
    return leftoversOf(isUp ? (last.left ?? []) : partsLeftBy(last), machine);
  };
  return {
    ...{ of: "fleet", run, holder: first !== null && isRunning(first, machine) ? first : null },
    shown: async () => {
      const last = files.read();
      const head = headOf(last, machine);
      const own = head.running ? (last?.parts ?? []) : [];
      const parts = [
        ...own.map(({ process, ...rest }) => ({ ...rest, pid: process?.pid ?? null })),
        ...leftIn(last).map(({ part: { process: _, ...rest }, process: { pid } }) =>
          shownLeftover(rest, "what it has begun", pid, head.running),
        ),
      ];
      const log = last === null ? null : files.logPath;
      return { of: "fleet", run_dir: run, ...head, address: addressIn(run), log, parts };
    },
    left: () => leftIn(files.read()).map(({ part, process }) => ({ part: part.name, process })),
    stopping: async () => {
      const state = files.read();
      if (state?.pid !== first?.pid || state?.state !== "stopping") return null;
      const working = state.parts
        .filter((one) => one.state === "stopping" && one.doing !== "" && one.kind !== "server")
        .map(({ name, doing }) => `${name}: ${doing}`);
      return { working, atOnce: state.at_once === true };
    },
    takeTurn: files.takeTurn,
  };
}

function shownLeftover(
  part: Omit<ShownPart, "pid">,
  after: string,
  pid: number,
  isUp: boolean,
): ShownPart {
  return { ...part, state: LEFT_OVER, pid, note: leftoverNote(after, pid, isUp) };
}

/** `isUp`: another one runs, which `viv down` would stop too. */
export function leftoverNote(after: string, pid: number, isUp = false): string {
  return `its viv up is gone; it ends after ${after}, or at once: ${endNow(pid, isUp)}`;
}

export function agentsUp(pit: string, host: UpHost): Up {
  const { machine } = host;
  const files = host.filesIn(pit);
  const first = files.service();
  const leftIn = (last: ServiceState | null) => {
    const isUp = last !== null && isRunning(last, machine);
    const own = isUp ? [] : files.names().flatMap((name) => files.agent(name) ?? []);
    return lingering([...own, ...(last?.left ?? [])], machine);
  };
  const claimsIn = async () => {
    const workers = host.isFolder(pit) ? await host.workersIn(pit) : [];
    return new Map(workers.map(({ name, claims }) => [name, claims]));
  };
  return {
    ...{ of: "agents", run: pit },
    holder: first !== null && isRunning(first, machine) ? first : null,
    shown: async () => {
      const last = files.service();
      const head = headOf(last, machine);
      const claims = await claimsIn();
      const states = files.names().flatMap((name) => files.agent(name) ?? []);
      const own = head.running ? states : [];
      const asShown = (agent: AgentState) => shownAgent(agent, claims.get(agent.name) ?? []);
      const parts = [
        ...own.map(asShown),
        ...leftIn(last).map(({ agent, process: { pid } }) =>
          shownLeftover(asShown(agent), "its food", pid, head.running),
        ),
      ];
      const log = last === null ? null : files.logPath;
      return { of: "agents", run_dir: pit, ...head, address: null, log, parts };
    },
    left: () =>
      leftIn(files.service()).map(({ agent, process }) => ({ part: agent.name, process })),
    stopping: async () => {
      const last = files.service();
      if (last?.pid !== first?.pid || last?.state !== "stopping") return null;
      const isBusy = ({ state }: AgentState) => state === "working";
      const claims = await claimsIn();
      const working = files
        .names()
        .flatMap((name) => files.agent(name) ?? [])
        .filter((agent) => isBusy(agent) || (claims.get(agent.name)?.length ?? 0) > 0)
        .map(({ name }) => `${name}: ${doingOf(claims.get(name) ?? []) || "its run"}`);
      return { working, atOnce: last.at_once === true };
    },
    takeTurn: files.takeTurn,
  };
}

const doingOf = (claims: readonly string[]) =>
  claims.length > 0 ? `digesting ${claims.join(", ")}` : "";

function shownAgent(agent: AgentState, claims: readonly string[]): ShownPart {
  const { name, pid, since, restarts, note } = agent;
  const state = stateOf(agent, claims);
  const doing = doingOf(claims);
  return { name, kind: "agent", state, pid, since, restarts, note, doing };
}

/** A worker says that it works a moment after it has claimed. */
export function stateOf({ state }: AgentState, claims: readonly string[]): AgentState["state"] {
  const isDigesting = claims.length > 0 && (state === "idle" || state === "starting");
  return isDigesting ? "working" : state;
}
