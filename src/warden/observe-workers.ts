import type { LedgerLine } from "../queue/ledger.ts";
import type { LedgerNews, Store, WorkerView } from "../queue/store.ts";
import type { Task } from "../queue/task.ts";
import type { Observation, Step } from "./findings.ts";
import { logOf } from "./resolve.ts";
import type { Rules } from "./rule.ts";

/** What the observer of a run needs beside its store. */
export interface RunSource {
  /** The time a file was last written; null when it is not there. */
  writtenAt(path: string): number | null;
  /** Dollars that a task of this type may cost; null: no limit. */
  budgetFor(type: string): { usd: number; of: "task" | "attempt" } | null;
  /** Dollars on a `step` or `usage` line of the ledger. */
  usdOn(line: LedgerLine): number;
}

const KEPT_STEPS = 50;

type ClaimedTasks = Map<string, { since: number; task: Task | null; token: string }>;

/** Observes the workers of one run again and again: only new lines of its ledger are read. */
export class WorkerObserver {
  readonly #store: Store;
  readonly #source: RunSource;
  readonly #rules: Rules;
  readonly #ledger: LedgerNews;
  readonly #steps = new Map<string, { token: string; steps: Step[]; at: number }>();
  /** Dollars by task and token of the attempt: of its steps, and of its usage line. */
  readonly #money = new Map<string, Map<string, { steps: number; usage: number }>>();
  /** Tasks that are claimed, as they were when that began. */
  #tasks: ClaimedTasks = new Map();

  constructor(store: Store, source: RunSource, rules: Rules) {
    this.#store = store;
    this.#ledger = store.followLedger();
    this.#source = source;
    this.#rules = rules;
  }

  async observe(now: number): Promise<Observation[]> {
    const { repeated_tool, over_budget } = this.#rules;
    if (repeated_tool || over_budget) await this.#readLedger();
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
      steps: held.map(({ id }) => this.#steps.get(id)?.steps ?? []).find(isLong) ?? [],
      spent: spent.find(({ usd, budgetUsd }) => usd > budgetUsd) ?? null,
      deadline: deadlines.sort((a, b) => a.at - b.at)[0] ?? null,
    };
  }

  /** Its log, a step of its model run, or that it began. */
  #outputOf(id: string, since: number): { at: number; where: string } {
    const path = logOf(this.#store, id);
    const at = path === null ? 0 : this.#source.writtenAt(path);
    const step = this.#steps.get(id)?.at ?? 0;
    return { at: Math.max(at ?? 0, since, step), where: `in ${path ?? `the log of ${id}`}` };
  }

  #spentOn({ id, task, token }: { id: string; task: Task | null; token: string }) {
    const budget = task && this.#source.budgetFor(task.task_type);
    if (!budget) return null;
    const attempts = this.#money.get(id) ?? new Map();
    const usdOf = (one?: { steps: number; usage: number }) =>
      Math.max(one?.usage ?? 0, one?.steps ?? 0);
    const usd =
      budget.of === "attempt"
        ? usdOf(attempts.get(token))
        : [...attempts.values()].reduce((sum, one) => sum + usdOf(one), 0);
    const of = budget.of === "task" ? `task ${id}` : `this attempt at ${id}`;
    return { usd, budgetUsd: budget.usd, of };
  }

  /** A task's file does not change while it is claimed: it is read once. */
  async #readTasks(): Promise<void> {
    const tasks: ClaimedTasks = new Map();
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

  async #readLedger(): Promise<void> {
    for await (const { line } of this.#ledger.news()) this.#addLine(line);
  }

  #addLine(line: LedgerLine): void {
    const { event, task, token } = line;
    if (task === undefined || token === undefined) return;
    if (event === "ended" && line.to === "done") {
      this.#money.delete(task);
      this.#steps.delete(task);
    }
    if (event !== "step" && event !== "usage") return;
    const attempts = this.#money.get(task) ?? new Map();
    this.#money.set(task, attempts);
    const attempt = attempts.get(token) ?? { steps: 0, usage: 0 };
    attempts.set(token, attempt);
    const usd = this.#source.usdOn(line);
    if (event === "usage") attempt.usage = Math.max(attempt.usage, usd);
    else attempt.steps += usd;
    if (event === "step") this.#addStep(task, token, line);
  }

  #addStep(task: string, token: string, line: LedgerLine): void {
    const before = this.#steps.get(task);
    const own = before?.token === token ? before : { token, steps: [], at: 0 };
    own.at = Math.max(own.at, Date.parse(line.at) || 0);
    if (line.kind === "tool") {
      own.steps.push({ tool: String(line.tool ?? ""), target: String(line.target ?? "") });
      const most = Math.max(KEPT_STEPS, this.#rules.repeated_tool?.times ?? 0);
      if (own.steps.length > most) own.steps.shift();
    }
    this.#steps.set(task, own);
  }
}

const isLong = (steps: readonly Step[]) => steps.length > 0;
