import type { Machine } from "../base/clock.ts";
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
  let isCancelled = false;
  let isHasty = false;
  let stopping: Promise<void> | undefined;

  const write = (state: ServiceState["state"]) => {
    const since = new Date(machine.clock.now()).toISOString();
    try {
      files.write({
        ...{ ...machine.self(), name: "service", state, since, config: config.file, agents },
        ...{ note: "", at_once: isHasty },
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
      await nameLingering(files, host, pit, emit);
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

/** Workers finish the food that they have begun. Until then their names are taken. */
async function nameLingering(
  files: UpFiles,
  host: UpHost,
  pit: string,
  emit: (event: UpEvent) => void,
): Promise<void> {
  const lingering = files.names().flatMap((name) => {
    const pid = lingeringPid(files.agent(name), host.machine);
    return pid === null ? [] : [{ name, pid }];
  });
  if (lingering.length === 0) return;
  const workers = new Map((await host.workersIn(pit)).map((one) => [one.name, one.claims]));
  for (const { name, pid } of lingering) {
    emit({ kind: "lingers", name, pid, digesting: workers.get(name) ?? [] });
  }
}

/** The worker of an agent whose service is gone, if its process is still there. */
export function lingeringPid(agent: AgentState | null, machine: Machine): number | null {
  if (agent === null || agent.run?.pid === agent.pid) return null;
  const { pid, started, boot, host } = agent;
  if (pid === null || started === null || boot === null || host === null) return null;
  return machine.vitality({ pid, started, boot, host }) === "alive" ? pid : null;
}

function takenError(files: UpFiles, host: UpHost): VivError {
  const holder = files.service();
  if (holder === null || host.machine.vitality(holder) === "gone") {
    return new VivError("WORKER_TAKEN", "another viv up is just starting there; try again.");
  }
  const { pid, host: where, config, since } = holder;
  return new VivError(
    "WORKER_TAKEN",
    `viv up runs there already: pid ${pid} on ${where}, since ${since}, with ${config}; stop it first: viv down -c ${config}`,
    { pid, host: where, config },
  );
}
