import type { Machine } from "../base/clock.ts";
import type { LedgerLine } from "../queue/ledger.ts";
import type { Store, WorkerView } from "../queue/store.ts";
import type { Task } from "../queue/task.ts";
import type { Rules } from "./config.ts";
import type { AgentHome, AgentStep } from "./directory.ts";
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
export function observeAgents(home: AgentHome, host: ObserverHost, rules: Rules) {
  const agents = new Map<string, { steps: Step[]; at: number }>();
  let position: number | null = null;

  const add = ({ agent, at, tool, endsRun }: AgentStep) => {
    const known = agents.get(agent) ?? { steps: [], at: 0 };
    agents.set(agent, known);
    known.at = Math.max(known.at, at);
    if (endsRun) known.steps = [];
    if (tool !== undefined) addStep(known.steps, tool, rules);
  };

  return (): Observation[] => {
    const { steps, position: next } = home.stepsFrom(position);
    position = next;
    for (const step of steps) add(step);
    return home.list().map(({ name, process, isBusy, since, log, spent }) => {
      const known = agents.get(name);
      const isAlive = process !== null && host.machine.vitality(process) === "alive";
      const written = (log && host.writtenAt(log)) || 0;
      const at = Math.max(Date.parse(since) || 0, known?.at ?? 0, written);
      return {
        ...{ kind: "agent", name, home: home.folder, isAlive, isBusy: isAlive && isBusy },
        output: { at, where: `in ${log ?? home.folder}` },
        steps: known?.steps ?? [],
        spent: spent && { ...spent, of: "today" },
      };
    });
  };
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
export function observeWorkers(store: Store, host: ObserverHost, rules: Rules) {
  const ledger = store.followLedger();
  const steps = new Map<string, { token: string; steps: Step[]; at: number }>();
  /** By task and token of the attempt. */
  const money = new Map<string, Map<string, Spent>>();
  /** Tasks that are claimed, as they were when that began. */
  let tasks: ReadonlyMap<string, ClaimedTask> = new Map();

  const addLine = (line: LedgerLine) => {
    const { event, task, token } = line;
    if (task === undefined || token === undefined) return;
    if (event === "ended" && line.to === "done") {
      money.delete(task);
      steps.delete(task);
    }
    if (event !== "step" && event !== "usage") return;
    const attempts = money.get(task) ?? new Map<string, Spent>();
    money.set(task, attempts);
    const attempt = attempts.get(token) ?? { steps: 0, usage: 0 };
    attempts.set(token, attempt);
    const usd = host.usdOn(line);
    if (event === "usage") {
      attempt.usage = Math.max(attempt.usage, usd);
      return;
    }
    attempt.steps += usd;
    const before = steps.get(task);
    const own = before?.token === token ? before : { token, steps: [], at: 0 };
    steps.set(task, own);
    own.at = Math.max(own.at, Date.parse(line.at) || 0);
    if (line.kind !== "tool") return;
    const step = { tool: String(line.tool ?? ""), target: String(line.target ?? "") };
    addStep(own.steps, step, rules);
  };

  /** A task's file does not change while it is claimed: it is read once. */
  const readTasks = async () => {
    const claimed = new Map<string, ClaimedTask>();
    for await (const { id, since } of store.list({ states: ["claimed"] })) {
      const known = tasks.get(id);
      if (known?.since === Date.parse(since)) {
        claimed.set(id, known);
        continue;
      }
      const view = await store.show(id);
      if (view?.state !== "claimed") continue; // it ended meanwhile
      claimed.set(id, { since: Date.parse(view.since), task: view.task, token: view.token ?? "" });
    }
    tasks = claimed;
    for (const id of steps.keys()) if (!tasks.has(id)) steps.delete(id);
  };

  /** The latest of: its log, a step of its model run, its begin. */
  const outputOf = (id: string, since: number) => {
    const path = logOf(store, id);
    const written = path === null ? 0 : (host.writtenAt(path) ?? 0);
    const at = Math.max(written, since, steps.get(id)?.at ?? 0);
    return { at, where: `in ${path ?? `the log of ${id}`}` };
  };

  const spentOn = ({ id, task, token }: ClaimedTask & { id: string }) => {
    const budget = task && host.budgetFor(task.task_type);
    if (!budget) return null;
    const attempts = money.get(id) ?? new Map<string, Spent>();
    if (budget.of === "attempt") {
      const usd = usdOf(attempts.get(token));
      return { usd, budgetUsd: budget.usd, of: `this attempt at ${id}` };
    }
    const usd = [...attempts.values()].reduce((sum, one) => sum + usdOf(one), 0);
    return { usd, budgetUsd: budget.usd, of: `task ${id}` };
  };

  const observation = (worker: WorkerView, now: number): Observation => {
    const { name, claims, process, heartbeatAge } = worker;
    const held = claims.flatMap((id) => {
      const known = tasks.get(id);
      return known === undefined ? [] : [{ id, ...known }];
    });
    const outputs = held.map(({ id, since }) => outputOf(id, since));
    const deadlines = held.flatMap(({ id, task }) => {
      const at = Date.parse(task?.deadline ?? "");
      return Number.isNaN(at) ? [] : [{ at, task: id }];
    });
    const spent = held.flatMap((one) => spentOn(one) ?? []);
    return {
      ...{ kind: "worker", name, home: store.location },
      ...{ isAlive: process === "alive", isBusy: held.length > 0 },
      output: outputs.sort((a, b) => b.at - a.at)[0] ?? null,
      heartbeatAt: heartbeatAge === null ? null : now - heartbeatAge * 1000,
      steps: held.map(({ id }) => steps.get(id)?.steps ?? []).find((all) => all.length > 0) ?? [],
      spent: spent.find(({ usd, budgetUsd }) => usd > budgetUsd) ?? null,
      deadline: deadlines.sort((a, b) => a.at - b.at)[0] ?? null,
    };
  };

  return async (now: number): Promise<Observation[]> => {
    if (rules.repeated_tool || rules.over_budget) {
      for await (const { line } of ledger.news()) addLine(line);
    }
    const workers = await store.workers();
    await readTasks();
    return workers.filter((one) => one.identity !== undefined).map((one) => observation(one, now));
  };
}

const usdOf = (attempt?: Spent) => Math.max(attempt?.usage ?? 0, attempt?.steps ?? 0);
