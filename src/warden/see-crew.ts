import { join } from "node:path";
import type { Machine } from "../base/clock.ts";
import type { CrewFiles } from "../crew/files.ts";
import type { CrewLine, MemberStatus } from "../crew/status.ts";
import type { Sighting, Step } from "./suspicion.ts";

const KEPT_STEPS = 50;
const FIRST_LOOK_AT = 1000;

/** One crew, looked at again and again: only what is new in its steps is read. */
export class CrewSight {
  readonly #files: CrewFiles;
  readonly #machine: Pick<Machine, "vitality" | "clock">;
  readonly #writtenAt: (path: string) => number | null;
  readonly #mostSteps: number;
  #place: number | null = null;
  readonly #agents = new Map<string, { steps: Step[]; at: number }>();

  constructor(
    files: CrewFiles,
    machine: Pick<Machine, "vitality" | "clock">,
    writtenAt: (path: string) => number | null,
    times = 0,
  ) {
    this.#files = files;
    this.#writtenAt = writtenAt;
    this.#machine = machine;
    this.#mostSteps = Math.max(KEPT_STEPS, times);
  }

  look(): Sighting[] {
    if (this.#place === null) {
      for (const line of this.#files.lastLines(FIRST_LOOK_AT)) this.#learn(line);
    }
    const { lines, place } = this.#files.linesFrom(this.#place);
    this.#place = place;
    for (const line of lines) this.#learn(line);
    return this.#files.names().flatMap((key) => {
      const status = this.#files.status(key);
      return status === null ? [] : [this.#sighting(status, this.#files.latestLog(key))];
    });
  }

  #sighting(status: MemberStatus, log: string | null): Sighting {
    const { name, run, state, cost_today, budget_usd_day, day } = status;
    const known = this.#agents.get(name);
    const isAlive = run !== null && this.#machine.vitality(run) === "alive";
    const began = Date.parse(status.since) || 0;
    const today = new Date(this.#machine.clock.now()).toISOString().slice(0, 10);
    const hasBudget = budget_usd_day !== undefined && day === today;
    return {
      kind: "agent",
      name,
      home: this.#files.folder,
      isAlive,
      isBusy: isAlive && state === "running",
      output: {
        at: Math.max(began, known?.at ?? 0, (log && this.#writtenAt(log)) || 0),
        where: `in ${log ?? join(this.#files.folder, "_steps.jsonl")}`,
      },
      steps: known?.steps ?? [],
      spent: hasBudget ? { usd: cost_today, budgetUsd: budget_usd_day, of: "today" } : null,
    };
  }

  #learn(line: CrewLine): void {
    const known = this.#agents.get(line.agent) ?? { steps: [], at: 0 };
    this.#agents.set(line.agent, known);
    known.at = Math.max(known.at, line.ts * 1000);
    if ("run" in line) known.steps = []; // the next run begins anew
    if (!("tool" in line)) return;
    known.steps.push({ tool: line.tool, target: line.target });
    if (known.steps.length > this.#mostSteps) known.steps.shift();
  }
}
