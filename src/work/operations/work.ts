import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { resolve } from "node:path";
import * as z from "zod/mini";
import { parseOptionalDuration } from "../../base/duration.ts";
import { isVivError, VivError } from "../../base/errors.ts";
import { assertName, assertTypeName } from "../../base/names.ts";
import type { Config } from "../../base/section.ts";
import { closedTypes } from "../../engines/accounts/closed-types.ts";
import { budgetSection, pricesSection } from "../../engines/costs/config-costs.ts";
import { SharedBudget } from "../../engines/costs/shared-budget.ts";
import { engineSlots } from "../../engines/engine-slots.ts";
import { readyEngine } from "../../engines/named.ts";
import { amount, count, events, flag, list, text } from "../../operation/fields.ts";
import { serve } from "../../operation/operation.ts";
import { defineRunStream, type RunContext } from "../../queue/operation.ts";
import type { Store } from "../../queue/store.ts";
import { DEFAULT_LOG_BYTES, type ReadyRoute, resolveHandler } from "../attempt.ts";
import { checkRoutes } from "../check-routes.ts";
import { limitsSection, type Route, routeFor, routesSection, typesOf } from "../config-route.ts";
import { WORK_SITE, type WorkerHost, workerHostPort } from "../host.ts";
import { settleReaped } from "../killed-attempt-bill.ts";
import { inheritedEnv } from "../place.ts";
import { Worker, type WorkerEvent, type WorkerOptions } from "../worker.ts";

const input = z.strictObject({
  handler: text("the executable for every task (default: the routes in viv.toml)"),
  types: list("take only tasks of these types"),
  concurrency: count("concurrent tasks (default 1)"),
  worker_id: text("the worker's name (default: host and process id)"),
  timeout: text("time limit for a task whose route has none, like 30m"),
  once: flag("exit after one task"),
  drain: flag("exit when nothing is left to do"),
  max_tasks: count("exit after N tasks"),
  grace: text("time for running tasks after a stop (default: no limit)"),
  kill_after: text("time between SIGTERM and SIGKILL (default 5s)"),
  poll_interval: amount("seconds between polls (default 5)"),
  heartbeat_interval: amount("seconds between heartbeats (default 30)"),
  durability: z.optional(
    z
      .enum(["safe", "fast"])
      .check(z.describe("safe (default): what is done survives power loss; fast: the process")),
  ),
  task_type_filter: list("same as --types (swarm-lib)"),
  max_iterations: amount("exit after N tasks or empty polls (swarm-lib; 0: never)"),
  run_dir: text("same as --run (swarm-lib)"),
});

export type WorkInput = z.output<typeof input>;

/** What `viv work` emits. */
export type WorkEvent =
  | Extract<WorkerEvent, { kind: "started" | "held" | "stopping" }>
  | { kind: "claimed"; id: string; type: string; attempt: number; snake?: string }
  | {
      kind: "ended";
      id: string;
      type: string;
      attempt: number;
      outcome: string;
      duration_ms: number;
      to?: string;
      note?: string;
      retry_at?: string;
    }
  | {
      kind: "proven";
      id: string;
      snake: string | null;
      outcome: string;
      note?: string;
      unproven?: string;
    }
  | { kind: "trouble"; id?: string; code: string; message: string }
  | ({ kind: "finished" } & z.output<typeof report>);

const report = z.object({ attempts: z.number(), done: z.number(), other: z.number() });

export const work = defineRunStream({
  name: "work",
  summary: "claim tasks and run a handler for each",
  access: "write",
  input,
  event: events<WorkEvent>(),
  output: report,
  drains: true,
  async *stream(context, given) {
    const { here, store } = context;
    const host = await context.use(workerHostPort);
    await assertRoutes(given, here.config, host);
    const isPit = store.extension(WORK_SITE) !== null;
    return yield* serve<WorkEvent, z.output<typeof report>>(context, (emit) => {
      const worker = workerFor(context, given, here.config, host, (event) =>
        emit(asEmitted(event, isPit)),
      );
      return {
        stop: () => worker.stop(),
        stopNow: () => worker.stopNow(),
        run: async () => {
          const ended = await worker.run();
          emit({ kind: "finished", ...ended });
          return ended;
        },
      };
    });
  },
});

function asEmitted(event: WorkerEvent, isPit: boolean): WorkEvent {
  switch (event.kind) {
    case "claimed": {
      const { task, attempt, worker } = event.claim;
      const snake = isPit ? worker : undefined;
      return { kind: "claimed", id: task.task_id, type: task.task_type, attempt, snake };
    }
    case "ended": {
      const { claim, end } = event;
      const { task_id: id, task_type: type } = claim.task;
      const duration_ms = Math.round(event.durationMs);
      const base = { kind: "ended" as const, id, type, attempt: claim.attempt };
      if (end.kind === "lost") return { ...base, outcome: "lost", duration_ms };
      const { to, retryAt } = end.ended;
      return { ...base, outcome: end.outcome, to, duration_ms, note: end.note, retry_at: retryAt };
    }
    case "proven": {
      const { id, snake, end, unproven } = event.result;
      const { outcome, note } = end.kind === "ended" ? end : { outcome: "lost", note: undefined };
      return { kind: "proven", id, snake, outcome, note, unproven: unproven ?? undefined };
    }
    case "trouble": {
      const { error, claim } = event;
      const message = error instanceof Error ? error.message : String(error);
      const code = isVivError(error) ? error.code : "BUG";
      return { kind: "trouble", id: claim?.task.task_id, code, message };
    }
    default:
      return event;
  }
}

const GATE_FULL = "the machine's gate is full; see: viv gate";

/** What can be run, and told to stop. */
export type Startable = Pick<Worker, "run" | "stop" | "stopNow">;

/** A worker as these flags and this viv.toml describe it. `run()` it, `stop()` it. */
export function workerFor(
  { store, now }: RunContext,
  given: WorkInput,
  config: Config | undefined,
  host: WorkerHost,
  onEvent: (event: WorkerEvent) => void,
): Startable {
  const worker = assertName("worker name", given.worker_id ?? defaultName(store));
  const find = given.handler ? always(fromFlag(given.handler, host)) : fromConfig(config, host);
  const types = typesFor(given, config, store.reservedTypes);
  const maxTasks = given.once ? 1 : given.max_tasks;
  const routes = given.handler || config === undefined ? new Map() : config.section(routesSection);
  const budget = config?.section(budgetSection) ?? { run: {}, day: {} };
  const onTrouble = (message: string) =>
    onEvent({ kind: "trouble", error: new VivError("CORRUPT", message) });
  const spending = new SharedBudget(store, now);
  const money = config && spentCheck(config, spending, now);
  const usesModels = [...routes.values()].some(({ engine }) => engine !== undefined);
  const slots = usesModels && host.gate ? engineSlots(host.gate, worker) : undefined;
  const closed = closedTypes({
    ...{ accounts: host.accounts, routes, types, now, onWarning: onTrouble },
    spent: money,
    full: slots && (() => (slots.room() === 0 ? GATE_FULL : null)),
  });
  const prices = config?.section(pricesSection) ?? new Map();
  const settle = settleReaped(store, host, { routeOf: find, prices }, (error) =>
    onEvent({ kind: "trouble", error }),
  );
  const options: WorkerOptions = {
    worker,
    types,
    routeFor: find,
    concurrency: given.concurrency ?? 1,
    killAfterMs: parseOptionalDuration(given.kill_after, "--kill-after") ?? 5_000,
    logBytes: config?.section(limitsSection).logBytes ?? DEFAULT_LOG_BYTES,
    pollMs: Math.max(50, (given.poll_interval ?? 5) * 1000),
    heartbeatMs: Math.max(50, (given.heartbeat_interval ?? 30) * 1000),
    reapEveryMs: 1_000,
    slotNames: snakesOf(store, worker, given.concurrency ?? 1),
    prices,
    budget,
    sharedBudget: spending,
    onEvent,
    timeoutMs: timeLimit(given.timeout),
    graceMs: parseOptionalDuration(given.grace, "--grace"),
    maxTasks,
    maxLooks: given.max_iterations || undefined,
    drain: given.drain,
    reviewLimit: config?.section(limitsSection).review,
    closedTypes: closed,
    slots,
    beforeClaim: money && (() => spending.refresh()),
    onReaped: usesModels ? settle : undefined,
    mostAtOnce: money && (() => spending.room(budget)),
  };
  return new Worker(store, host, options);
}

/** A pit has one snake for each claim at a time. */
function snakesOf(store: Store, worker: string, concurrency: number): string[] | undefined {
  if (store.extension(WORK_SITE) === null || concurrency === 1) return undefined;
  return Array.from({ length: concurrency }, (_, i) => `${worker}-${i + 1}`);
}

/** Finds mistakes in the flags of a worker, and starts none. */
export async function checkWorker(context: RunContext, given: WorkInput): Promise<void> {
  const host = await context.use(workerHostPort);
  workerFor(context, given, context.here.config, host, () => {});
}

/** What would fail every task of a type is told before the first is taken. */
export async function assertRoutes(
  given: WorkInput,
  config: Config | undefined,
  host: WorkerHost,
): Promise<void> {
  if (given.handler) {
    const problem = host.whyNotInstalled(programAt(given.handler, host.cwd));
    if (problem) throw new VivError("USAGE", `--handler: ${problem.replace(/;.*/, "")}.`);
    return;
  }
  if (config === undefined) return;
  const types = typesFor(given, config);
  const wanted = types?.map((type) => routeFor(config, type)) ?? [
    ...config.section(routesSection).values(),
  ];
  const routes = [...new Set(wanted)].filter((route) => route !== undefined);
  await checkRoutes(routes, config, host);
}

/** Undefined when neither the run nor the day has a budget. */
function spentCheck(
  config: Config,
  spending: SharedBudget,
  now: () => number,
): ((type: string | null) => { until: number | null; text: string } | null) | undefined {
  const budget = config.section(budgetSection);
  if (![budget.run, budget.day].some(({ usd, tokens }) => usd ?? tokens)) return undefined;
  const routed = [...config.section(routesSection).keys()].filter((type) => type !== "default");
  return (type) => {
    const over = spending.usedUp(budget, type, routed);
    if (over === null) return null;
    // Without its numbers, which change with each step of the others.
    if (over.isShared) return { until: now() + LOOK_AGAIN_MS, text: RESERVED };
    const midnight = (Math.floor(now() / DAY_MS) + 1) * DAY_MS;
    return { until: over.which === "day" ? midnight : null, text: over.text };
  };
}

const RESERVED =
  "what is left of the budget is reserved by those that run, and comes back when they end; see: viv costs";
/** Others give back what they have reserved, and nobody knows when. */
const LOOK_AGAIN_MS = 250;

const DAY_MS = 86_400_000;

function timeLimit(given: string | undefined): number | undefined {
  const timeoutMs = parseOptionalDuration(given, "--timeout");
  if (timeoutMs !== 0) return timeoutMs;
  throw new VivError("USAGE", "--timeout must be more than zero; without it there is no limit.");
}

/** Without being asked for, a reserved type is left to those that do ask. */
function typesFor(
  given: WorkInput,
  config: Config | undefined,
  reserved: readonly string[] = [],
): readonly string[] | null {
  const asked = [...(given.types ?? []), ...(given.task_type_filter ?? [])].filter(Boolean);
  for (const type of asked) assertTypeName(type);
  const routed = given.handler || config === undefined ? null : typesOf(config);
  if (asked.length === 0) return routed?.filter((type) => !reserved.includes(type)) ?? null;
  const missing = routed === null ? [] : asked.filter((type) => !routed.includes(type));
  if (missing.length > 0) {
    throw new VivError(
      "INVALID",
      `there is no handler for ${missing.join(", ")}; add [handlers.${missing[0]}] to ${config?.file}, or pass --handler.`,
    );
  }
  return asked;
}

function fromConfig(
  config: Config | undefined,
  host: WorkerHost,
): (type: string) => ReadyRoute | undefined {
  if (config === undefined || config.section(routesSection).size === 0) {
    const where = config
      ? `${config.file} has none`
      : `there is no viv.toml at or above ${host.cwd}`;
    throw new VivError(
      "USAGE",
      `which handler? Pass --handler PATH, or write [handlers.default] into viv.toml (${where}).`,
    );
  }
  const { folder } = config;
  const ready = new Map<Route, ReadyRoute>();
  return (type) => {
    const route = routeFor(config, type);
    if (route === undefined) return undefined;
    const known = ready.get(route);
    if (known !== undefined) return known;
    const handler = resolveHandler(route.handler, folder);
    const env = inheritedEnv(host.env, route);
    const engine = route.engine && readyEngine(route.engine, handler, folder);
    const made = { ...route, handler, folder, env, engine };
    ready.set(route, made);
    return made;
  };
}

function fromFlag(handler: string, host: WorkerHost): ReadyRoute {
  const route: Route = {
    type: "default",
    handler: [programAt(handler, host.cwd)],
    workspace: "none",
    sandbox: [],
    env: [],
  };
  const env = inheritedEnv(host.env, { env: [], inheritsAll: true });
  return { ...route, folder: host.cwd, env };
}

/** A file here is meant before one in PATH, as swarm-lib's users expect. */
function programAt(handler: string, cwd: string): string {
  const here = resolve(cwd, handler);
  return handler.includes("/") || existsSync(here) ? here : handler;
}

function always<T>(value: T): () => T {
  return () => value;
}

function defaultName(store: Store): string {
  if (store.extension(WORK_SITE) !== null) return `snake-${process.pid}`;
  const host = hostname()
    .replace(/[^A-Za-z0-9-]/g, "-")
    .replace(/^-+/, "")
    .slice(0, 60);
  return `${host || "worker"}-${process.pid}`;
}
