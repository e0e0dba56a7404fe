import type { Machine } from "../base/clock.ts";
import type { AgentEntry, AgentHome, AgentStep } from "./directory.ts";
import type { Sighting, Step } from "./suspicion.ts";

const KEPT_STEPS = 50;

/** One crew, looked at again and again: only what is new in its steps is read. */
export class CrewSight {
  readonly #home: AgentHome;
  readonly #machine: Pick<Machine, "vitality">;
  readonly #writtenAt: (path: string) => number | null;
  readonly #mostSteps: number;
  #position: number | null = null;
  readonly #agents = new Map<string, { steps: Step[]; at: number }>();

  constructor(
    home: AgentHome,
    machine: Pick<Machine, "vitality">,
    writtenAt: (path: string) => number | null,
    times = 0,
  ) {
    this.#home = home;
    this.#machine = machine;
    this.#writtenAt = writtenAt;
    this.#mostSteps = Math.max(KEPT_STEPS, times);
  }

  look(): Sighting[] {
    const { steps, position } = this.#home.stepsFrom(this.#position);
    this.#position = position;
    for (const step of steps) this.#learn(step);
    return this.#home.list().map((agent) => this.#sighting(agent));
  }

  #sighting({ name, process, isBusy, since, log, spent }: AgentEntry): Sighting {
    const { folder } = this.#home;
    const known = this.#agents.get(name);
    const isAlive = process !== null && this.#machine.vitality(process) === "alive";
    const at = Math.max(Date.parse(since) || 0, known?.at ?? 0, (log && this.#writtenAt(log)) || 0);
    return {
      ...{ kind: "agent", name, home: folder, isAlive, isBusy: isAlive && isBusy },
      output: { at, where: `in ${log ?? folder}` },
      steps: known?.steps ?? [],
      spent: spent && { ...spent, of: "today" },
    };
  }

  #learn({ agent, at, tool, endsRun }: AgentStep): void {
    const known = this.#agents.get(agent) ?? { steps: [], at: 0 };
    this.#agents.set(agent, known);
    known.at = Math.max(known.at, at);
    if (endsRun) known.steps = [];
    if (tool === undefined) return;
    known.steps.push(tool);
    if (known.steps.length > this.#mostSteps) known.steps.shift();
  }
}
