import { VivError } from "../base/errors.ts";
import { AgentMember } from "./agent.ts";
import type { Surroundings } from "./agent-programs.ts";
import type { AgentsConfig } from "./agents.ts";
import type { ServiceState, UpFiles } from "./up-files.ts";
import type { UpEvent, UpHost } from "./up-host.ts";

/**
 * `viv up`: the agents of one agents.toml around their pit, and service.json about them. Each agent
 * restarts by itself; here they are only started and stopped together.
 *
 * - With `drain` it stops by itself when every worker has ended or is parked, and none of them had
 *   work since the others looked. A worker that ended early is started once more, because those that
 *   worked on may have left food for it.
 * - Else it runs until `stop()`, which waits for work in flight, or `stopNow()`, which does not.
 */
export class UpService {
  readonly #config: AgentsConfig;
  readonly #host: UpHost;
  readonly #files: UpFiles;
  readonly #emit: (event: UpEvent) => void;
  readonly #drain: boolean;
  readonly #members: readonly AgentMember[];
  /** Nothing is written before: the pit may be another service's. */
  #hasPit = false;
  #isCancelled = false;
  #isHasty = false;
  #stopping: Promise<void> | undefined;
  #resolve: () => void = () => {};
  readonly #stopped = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });

  constructor(
    config: AgentsConfig,
    around: Pick<Surroundings, "viv" | "env" | "drain">,
    host: UpHost,
    emit: (event: UpEvent) => void,
  ) {
    this.#config = config;
    this.#host = host;
    this.#files = host.filesIn(config.pit.path);
    this.#emit = emit;
    this.#drain = around.drain;
    const place = { ...around, pit: config.pit.path, folder: config.folder };
    this.#members = config.agents.map(
      (agent) => new AgentMember(agent, place, host, this.#files, emit),
    );
  }

  /** Until it is stopped or drained. Rejects when another `viv up` has the pit. */
  async run(): Promise<void> {
    const agents = this.#config.agents.map(({ name }) => name);
    await takeOver(this.#files, this.#host, agents, this.#emit);
    if (this.#isCancelled) return;
    this.#hasPit = true;
    this.#write("working");
    const { pid } = this.#host.machine.self();
    this.#emit({ kind: "up", pid, pit: this.#config.pit.path, agents });
    if (this.#stopping === undefined) for (const member of this.#members) member.start();
    let isDrained = false;
    if (this.#drain) {
      void this.#drained().then(() => {
        isDrained = this.#stopping === undefined;
        void this.stop();
      });
    }
    await this.#stopped;
    this.#write(isDrained ? "ended" : "stopped");
    this.#emit({ kind: "finished" });
  }

  /** All agents finish the work that they have begun. */
  async stop(): Promise<void> {
    this.#isCancelled = true;
    if (!this.#hasPit) return;
    this.#stopping ??= this.#stop();
    await this.#stopping;
  }

  /** Begun work is given back. */
  async stopNow(): Promise<void> {
    void this.stop();
    if (!this.#hasPit) return;
    if (!this.#isHasty) {
      this.#isHasty = true;
      await Promise.all(this.#members.map((member) => member.stopNow()));
    }
    await this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#write("stopping");
    const working = this.#members.filter((one) => one.isBusy).map(({ name }) => name);
    this.#emit({ kind: "stopping", working });
    await Promise.all(this.#members.map((member) => member.stop()));
    this.#resolve();
  }

  async #drained(): Promise<void> {
    for (;;) {
      await Promise.all(this.#members.map(({ over }) => over));
      const isAllDone = !this.#members.some(({ hasWorked }) => hasWorked);
      if (isAllDone || this.#stopping !== undefined) return;
      for (const member of this.#members) member.startAgain();
    }
  }

  #write(state: ServiceState["state"]): void {
    const { machine } = this.#host;
    try {
      this.#files.write({
        ...machine.self(),
        name: "service",
        state,
        since: new Date(machine.clock.now()).toISOString(),
        config: this.#config.file,
        agents: this.#config.agents.map(({ name }) => name),
        note: "",
      });
    } catch (error) {
      // The agents go on; only service.json is late.
      this.#emit({ kind: "trouble", name: "service", message: (error as Error).message });
    }
  }
}

const KILL_AFTER_MS = 5_000;

/**
 * Locks the pit, or throws with the holder. A `viv up` that died has left workers, which end by
 * themselves because their stdin has closed, and runs, which are ended here.
 */
async function takeOver(
  files: UpFiles,
  host: UpHost,
  agents: readonly string[],
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
    if (!agents.includes(name)) files.remove(name);
  }
}

function takenError(files: UpFiles, host: UpHost): VivError {
  const holder = files.service();
  if (holder === null || host.machine.vitality(holder) === "gone") {
    return new VivError("WORKER_TAKEN", "another viv up is just starting there; try again.");
  }
  const { pid, host: where, config, since } = holder;
  return new VivError(
    "WORKER_TAKEN",
    `viv up runs there already: pid ${pid} on ${where}, since ${since}, with ${config}; stop it first: kill ${pid}`,
    { pid, host: where, config },
  );
}
