import type { Machine } from "../base/clock.ts";
import type { LedgerLine } from "../queue/ledger.ts";
import type { LedgerNews, Store, WorkerView } from "../queue/store.ts";
import type { Task } from "../queue/task.ts";
import type { Rules } from "./config.ts";
import type { AgentEntry, AgentHome, AgentStep } from "./directory.ts";
import type { Observation, Step } from "./findings.ts";
import { logOf } from "./resolve.ts";
import type { WardenOptions } from "./warden-host.ts";

/** What observers need beside a store or a home. */
export interface ObserverHost {
  machine: Machine;
  /** The time a file was last written; null when it is not there. */
  writtenAt(path: string): number | null;
  budgetFor: WardenOptions["budgetFor"];
  /** Dollars on a `step` or `usage` line of the ledger. */
  usdOn(line: LedgerLine): number;
}

const KEPT_STEPS = 50;

function addStep(steps: Step[], step: Step, { repeated_tool }: Rules): void {
  steps.push(step);
  if (steps.length > Math.max(KEPT_STEPS, repeated_tool?.times ?? 0)) steps.shift();
}

/** Observes the agents of one home again and again: only new steps are read. */
export class AgentObserver {
  readonly #home: AgentHome;
  readonly #host: ObserverHost;
  readonly #rules: Rules;
  #position: number | null = null;
  readonly #agents = new Map<string, { steps: Step[]; at: number }>();

  constructor(home: AgentHome, host: ObserverHost, rules: Rules) {
    this.#home = home;
    this.#host = host;
    this.#rules = rules;
  }

  observe(): Observation[] {
    const { steps, position } = this.#home.stepsFrom(this.#position);
    this.#position = position;
    for (const step of steps) this.#addStep(step);
    return this.#home.list().map((agent) => this.#observation(agent));
  }

  #observation({ name, process, isBusy, since, log, spent }: AgentEntry): Observation {
    const { folder } = this.#home;
    const { machine, writtenAt } = this.#host;
    const known = this.#agents.get(name);
    const isAlive = process !== null && machine.vitality(process) === "alive";
    const at = Math.max(Date.parse(since) || 0, known?.at ?? 0, (log && writtenAt(log)) || 0);
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
    if (tool !== undefined) addStep(known.steps, tool, this.#rules);
  }
}

interface ClaimedTask {
  since: number;
  task: Task | null;
  token: string;
}

/** Dollars of one attempt: of its steps, and of its usage line. */
interface Spent {
  steps: number;
  usage: number;
}

/** Observes the workers of one run again and again: only new lines of its ledger are read. */
export class WorkerObserver {
  readonly #store: Store;
  readonly #host: ObserverHost;
  readonly #rules: Rules;
  readonly #ledger: LedgerNews;
  readonly #steps = new Map<string, { token: string; steps: Step[]; at: number }>();
  /** By task and token of the attempt. */
  readonly #money = new Map<string, Map<string, Spent>>();
  /** Tasks that are claimed, as they were when that began. */
  #tasks: ReadonlyMap<string, ClaimedTask> = new Map();

  constructor(store: Store, host: ObserverHost, rules: Rules) {
    this.#store = store;
    this.#ledger = store.followLedger();
    this.#host = host;
    this.#rules = rules;
  }

  async observe(now: number): Promise<Observation[]> {
    const { repeated_tool, over_budget } = this.#rules;
    if (repeated_tool || over_budget) {
      for await (const { line } of this.#ledger.news()) this.#addLine(line);
    }
    const workers = await this.#store.workers();
    await this.#readTasks();
    return workers
      .filter((one) => one.identity !== undefined)
      .map((one) => this.#observation(one, now));
  }

  #observation({ name, claims, process, heartbeatAge }: WorkerView, now: number): Observation {
    const held = claims.flatMap((id) => {
      const known = this.#tasks.get(id);
      return known === undefined ? [] : [{ id, ...known }];
    });
    const outputs = held.map(({ id, since }) => this.#outputOf(id, since));
    const latest = outputs.sort((a, b) => b.at - a.at)[0] ?? null;
    const deadlines = held.flatMap(({ id, task }) => {
      const at = Date.parse(task?.deadline ?? "");
      return Number.isNaN(at) ? [] : [{ at, task: id }];
    });
    const spent = held.flatMap((one) => this.#spentOn(one) ?? []);
    return {
      kind: "worker",
      name,
      home: this.#store.location,
      isAlive: process === "alive",
      isBusy: held.length > 0,
      output: latest,
      heartbeatAt: heartbeatAge === null ? null : now - heartbeatAge * 1000,
      steps: held.map(({ id }) => this.#steps.get(id)?.steps ?? []).find(hasSteps) ?? [],
      spent: spent.find(({ usd, budgetUsd }) => usd > budgetUsd) ?? null,
      deadline: deadlines.sort((a, b) => a.at - b.at)[0] ?? null,
    };
  }

  /** The latest of: its log, a step of its model run, its begin. */
  #outputOf(id: string, since: number): { at: number; where: string } {
    const path = logOf(this.#store, id);
    const at = path === null ? 0 : this.#host.writtenAt(path);
    const step = this.#steps.get(id)?.at ?? 0;
    return { at: Math.max(at ?? 0, since, step), where: `in ${path ?? `the log of ${id}`}` };
  }

  #spentOn({ id, task, token }: ClaimedTask & { id: string }) {
    const budget = task && this.#host.budgetFor(task.task_type);
    if (!budget) return null;
    const attempts = this.#money.get(id) ?? new Map<string, Spent>();
    if (budget.of === "attempt") {
      const usd = usdOf(attempts.get(token));
      return { usd, budgetUsd: budget.usd, of: `this attempt at ${id}` };
    }
    const usd = [...attempts.values()].reduce((sum, one) => sum + usdOf(one), 0);
    return { usd, budgetUsd: budget.usd, of: `task ${id}` };
  }

  /** A task's file does not change while it is claimed: it is read once. */
  async #readTasks(): Promise<void> {
    const tasks = new Map<string, ClaimedTask>();
    for await (const { id, since } of this.#store.list({ states: ["claimed"] })) {
      const known = this.#tasks.get(id);
      if (known?.since === Date.parse(since)) {
        tasks.set(id, known);
        continue;
      }
      const view = await this.#store.show(id);
      if (view?.state !== "claimed") continue; // it ended meanwhile
      tasks.set(id, { since: Date.parse(view.since), task: view.task, token: view.token ?? "" });
    }
    this.#tasks = tasks;
    for (const id of this.#steps.keys()) if (!tasks.has(id)) this.#steps.delete(id);
  }

  #addLine(line: LedgerLine): void {
    const { event, task, token } = line;
    if (task === undefined || token === undefined) return;
    if (event === "ended" && line.to === "done") {
      this.#money.delete(task);
      this.#steps.delete(task);
    }
    if (event !== "step" && event !== "usage") return;
    const attempts = this.#money.get(task) ?? new Map<string, Spent>();
    this.#money.set(task, attempts);
    const attempt = attempts.get(token) ?? { steps: 0, usage: 0 };
    attempts.set(token, attempt);
    const usd = this.#host.usdOn(line);
    if (event === "usage") {
      attempt.usage = Math.max(attempt.usage, usd);
      return;
    }
    attempt.steps += usd;
    const before = this.#steps.get(task);
    const own = before?.token === token ? before : { token, steps: [], at: 0 };
    this.#steps.set(task, own);
    own.at = Math.max(own.at, Date.parse(line.at) || 0);
    if (line.kind !== "tool") return;
    const step = { tool: String(line.tool ?? ""), target: String(line.target ?? "") };
    addStep(own.steps, step, this.#rules);
  }
}

const hasSteps = (steps: readonly Step[]) => steps.length > 0;

const usdOf = (attempt?: Spent) => Math.max(attempt?.usage ?? 0, attempt?.steps ?? 0);
