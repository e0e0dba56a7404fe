import type { Machine } from "../base/clock.ts";
import type { AgentEntry, AgentHome, AgentStep } from "./directory.ts";
import type { Observation, Step } from "./findings.ts";

const KEPT_STEPS = 50;

/** Observes the agents of one home again and again: only new steps are read. */
export class AgentObserver {
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

  observe(): Observation[] {
    const { steps, position } = this.#home.stepsFrom(this.#position);
    this.#position = position;
    for (const step of steps) this.#addStep(step);
    return this.#home.list().map((agent) => this.#observation(agent));
  }

  #observation({ name, process, isBusy, since, log, spent }: AgentEntry): Observation {
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

  #addStep({ agent, at, tool, endsRun }: AgentStep): void {
    const known = this.#agents.get(agent) ?? { steps: [], at: 0 };
    this.#agents.set(agent, known);
    known.at = Math.max(known.at, at);
    if (endsRun) known.steps = [];
    if (tool === undefined) return;
    known.steps.push(tool);
    if (known.steps.length > this.#mostSteps) known.steps.shift();
  }
}
