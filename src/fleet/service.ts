import { AgentMember } from "./agent.ts";
import type { ServiceState } from "./agent-state.ts";
import type { AgentsConfig } from "./agents.ts";
import type { Surroundings } from "./commands.ts";
import type { UpEvent } from "./events.ts";
import type { UpHost } from "./ports.ts";
import { Supervisor } from "./supervisor.ts";
import { takeOver } from "./take-over.ts";
import type { UpFiles } from "./up-files.ts";

/** `viv up`: the agents of one agents.toml around their pit, and service.json that says so. */
export class UpService {
  readonly #config: AgentsConfig;
  readonly #host: UpHost;
  readonly #files: UpFiles;
  readonly #tell: (event: UpEvent) => void;
  readonly #supervisor: Supervisor;
  /** Nothing is written before: it may be another's. */
  #hasPit = false;
  #isCancelled = false;

  constructor(
    config: AgentsConfig,
    around: Pick<Surroundings, "viv" | "env" | "drain">,
    host: UpHost,
    tell: (event: UpEvent) => void,
  ) {
    const pit = config.pit.path;
    this.#config = config;
    this.#host = host;
    this.#files = host.filesIn(pit);
    this.#tell = tell;
    const place = { ...around, pit, folder: config.folder };
    const members = config.agents.map(
      (agent) => new AgentMember(agent, place, host, this.#files, tell),
    );
    this.#supervisor = new Supervisor(members, {
      drain: around.drain,
      onStopping: (working) => {
        this.#write("stopping");
        tell({ kind: "stopping", working });
      },
    });
  }

  /** Until it is stopped or drained. Rejects when another `viv up` has the pit. */
  async run(): Promise<void> {
    const agents = this.#config.agents.map(({ name }) => name);
    const pit = this.#config.pit.path;
    await takeOver(this.#files, this.#host, agents, this.#tell);
    if (this.#isCancelled) return;
    this.#hasPit = true;
    this.#write("working");
    this.#tell({ kind: "up", pid: this.#host.machine.self().pid, pit, agents });
    const how = await this.#supervisor.run();
    this.#write(how === "drained" ? "ended" : "stopped");
    this.#tell({ kind: "finished" });
  }

  async stop(): Promise<void> {
    this.#isCancelled = true;
    if (this.#hasPit) await this.#supervisor.stop();
  }

  async stopNow(): Promise<void> {
    this.#isCancelled = true;
    if (this.#hasPit) await this.#supervisor.stopNow();
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
      // The agents go on living; only what is shown of the service is late.
      this.#tell({ kind: "trouble", name: "service", message: (error as Error).message });
    }
  }
}
