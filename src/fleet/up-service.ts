import type { Machine, ProcessIdentity } from "../base/clock.ts";
import { messageOf, VivError } from "../base/errors.ts";
import { agentMember } from "./agent.ts";
import type { Surroundings } from "./agent-programs.ts";
import type { AgentsConfig } from "./agents.ts";
import type { AgentState, ServiceState, UpFiles } from "./up-files.ts";
import type { UpEvent, UpHost } from "./up-ports.ts";

/**
 * `viv up`: the agents of one agents.toml around their pit, and service.json about them. Each agent
 * restarts by itself; here they are only started and stopped together.
 *
 * - With `drain` it stops by itself when every worker has ended or is parked, and none of them had
 *   work since the others looked. A worker that ended early is started once more, because those that
 *   worked on may have left food for it.
 * - Else it runs until `stop()`, which waits for work in flight, or `stopNow()`, which does not.
 */
export function upService(
  config: AgentsConfig,
  around: Pick<Surroundings, "viv" | "env" | "handing" | "drain">,
  host: UpHost,
  emit: (event: UpEvent) => void,
) {
  const { machine } = host;
  const pit = config.pit.path;
  const files = host.filesIn(pit);
  const place = { ...around, pit, folder: config.folder };
  const members = config.agents.map((agent) => agentMember(agent, place, host, files, emit));
  const agents = members.map(({ name }) => name);
  /** Nothing is written before: the pit may be another service's. */
  let hasPit = false;
  let left: readonly AgentState[] = [];
  let isCancelled = false;
  let isHasty = false;
  let stopping: Promise<void> | undefined;

  const write = (state: ServiceState["state"]) => {
    const since = new Date(machine.clock.now()).toISOString();
    try {
      files.write({
        ...{ ...machine.self(), name: "service", state, since, config: config.file, agents },
        ...{ note: "", at_once: isHasty },
        left: lingering(left, machine).map(({ agent }) => agent),
      });
    } catch (error) {
      // The agents go on; only service.json is late.
      emit({ kind: "trouble", name: "service", message: messageOf(error) });
    }
  };

  let resolveStopped = () => {};
  const stopped = new Promise<void>((resolve) => {
    resolveStopped = resolve;
  });

  const stopAll = async () => {
    write("stopping");
    const working = members.filter((one) => one.isBusy()).map(({ name }) => name);
    emit({ kind: "stopping", working });
    await Promise.all(members.map((member) => member.stop()));
    resolveStopped();
  };

  /** All agents finish the work that they have begun. */
  const stop = async () => {
    isCancelled = true;
    if (!hasPit) return;
    stopping ??= stopAll();
    await stopping;
  };

  const drained = async () => {
    for (;;) {
      await Promise.all(members.map((one) => one.over()));
      if (!members.some((one) => one.hasWorked()) || stopping !== undefined) return;
      for (const member of members) member.startAgain();
    }
  };

  return {
    /** Until it is stopped or drained. Rejects when another `viv up` has the pit. */
    run: async () => {
      await takeOver(files, host, emit);
      left = agentsLeft(files);
      await nameLingering(left, host, pit, emit);
      for (const name of files.names()) if (!agents.includes(name)) files.remove(name);
      if (isCancelled) return;
      hasPit = true;
      write("working");
      emit({ kind: "up", pid: machine.self().pid, pit, agents });
      if (stopping === undefined) for (const member of members) member.start();
      let isDrained = false;
      if (around.drain) {
        void drained().then(() => {
          isDrained = stopping === undefined;
          void stop();
        });
      }
      await stopped;
      write(isDrained ? "ended" : "stopped");
      emit({ kind: "finished" });
    },
    stop,
    /** Begun work is given back. */
    stopNow: async () => {
      void stop();
      if (!hasPit) return;
      if (!isHasty) {
        isHasty = true;
        write("stopping"); // so that no other viv down asks for it
        await Promise.all(members.map((member) => member.stopNow()));
      }
      await stopping;
    },
  };
}

const KILL_AFTER_MS = 5_000;

/**
 * Locks the pit, or throws with the holder. A `viv up` that died has left workers, which end after
 * their food because their stdin has closed, and runs, which are ended here.
 */
async function takeOver(
  files: UpFiles,
  host: UpHost,
  emit: (event: UpEvent) => void,
): Promise<void> {
  if (!(await files.take())) throw takenError(files, host);
  const self = host.machine.self();
  for (const name of files.names()) {
    const run = files.agent(name)?.run;
    if (run && run.host === self.host && run.boot === self.boot) {
      const wasThere = host.machine.vitality(run) === "alive";
      const survivors = await host.handlers.endTree(run, { killAfterMs: KILL_AFTER_MS });
      if (wasThere) emit({ kind: "leftover", name, pid: run.pid, survivors });
    }
  }
}

/** What a service that is gone may have left: its own agents, and those that it has found itself. */
function agentsLeft(files: UpFiles): AgentState[] {
  const own = files.names().flatMap((name) => files.agent(name) ?? []);
  return [...own, ...(files.service()?.left ?? [])];
}

/** Workers finish the food that they have begun. Until then their names are taken. */
async function nameLingering(
  left: readonly AgentState[],
  host: UpHost,
  pit: string,
  emit: (event: UpEvent) => void,
): Promise<void> {
  const found = lingering(left, host.machine);
  if (found.length === 0) return;
  const workers = new Map((await host.workersIn(pit)).map((one) => [one.name, one.claims]));
  for (const { agent, process } of found) {
    const { name } = agent;
    emit({ kind: "lingers", name, pid: process.pid, digesting: workers.get(name) ?? [] });
  }
}

/** Of agents whose service is gone, those whose worker is still there, each process once. */
export function lingering(
  agents: readonly AgentState[],
  machine: Machine,
): { agent: AgentState; process: ProcessIdentity }[] {
  const found = agents.flatMap((agent) => {
    const { pid, started, boot, host } = agent;
    if (pid === null || started === null || boot === null || host === null) return [];
    const process = { pid, started, boot, host };
    const isWorker = agent.run?.pid !== pid;
    return isWorker && machine.vitality(process) === "alive" ? [{ agent, process }] : [];
  });
  return [...new Map(found.map((one) => [one.process.pid, one])).values()];
}

function takenError(files: UpFiles, host: UpHost): VivError {
  const holder = files.service();
  if (holder === null || host.machine.vitality(holder) === "gone") {
    return new VivError("WORKER_TAKEN", "another viv up is just starting there; try again.");
  }
  const { pid, host: where, config, since, state } = holder;
  return new VivError(
    "WORKER_TAKEN",
    state === "stopping"
      ? `viv up still runs there, and has been stopping since ${since}: pid ${pid} on ${where}, with ${config}; wait for it with: viv down -c ${config}`
      : `viv up runs there already: pid ${pid} on ${where}, since ${since}, with ${config}; stop it first: viv down -c ${config}`,
    { pid, host: where, config },
  );
}
