import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { resolve } from "node:path";
import * as z from "zod/mini";
import { type Duration, parseOptionalDuration } from "../../base/duration.ts";
import { isVivError, messageOf, VivError } from "../../base/errors.ts";
import { assertNewName, assertTypeName } from "../../base/names.ts";
import type { Config } from "../../base/section.ts";
import { closedTypes } from "../../engines/accounts/closed-types.ts";
import { budgetSection, pricesSection } from "../../engines/costs/config-costs.ts";
import { SharedBudget } from "../../engines/costs/shared-budget.ts";
import { type EngineSlots, engineSlots } from "../../engines/engine-slots.ts";
import { keepSealed } from "../../ledger/keep-sealed.ts";
import { amount, count, duration, events, flag, list, text } from "../../operation/fields.ts";
import { serve } from "../../operation/operation.ts";
import { defineRunStream, type RunContext } from "../../queue/operation.ts";
import type { Store } from "../../queue/store.ts";
import { DEFAULT_LOG_BYTES, DEFAULT_SETUP_BYTES, type ReadyRoute } from "../attempt.ts";
import { checkRoutes } from "../check-routes.ts";
import { limitsSection, routeFor, routesSection, typesOf } from "../config-route.ts";
import { failedSince } from "../failed-since.ts";
import { type HeldBack, heldBackIn } from "../held-back.ts";
import {
  type ConfigRead,
  configWatchPort,
  installedPort,
  type WatchConfig,
  WORK_SITE,
  type WorkerHost,
  workerHostPort,
} from "../host.ts";
import { settleReaped } from "../killed-attempt-bill.ts";
import { type LeftBehind, leftBehind } from "../left-behind.ts";
import { plainRoute, routeFromConfig } from "../ready-route.ts";
import { Reload } from "../reload.ts";
import { Worker } from "../worker.ts";
import type { BesideEvent, WorkerEvent, WorkerOptions, WorkerReport } from "../worker-options.ts";

const input = z.strictObject({
  handler: text("the executable for every task (default: the routes in viv.toml)"),
  types: list("only tasks of these types"),
  concurrency: count("concurrent tasks (default: 1)"),
  worker_id: text("name of a worker (default: host and process id)"),
  timeout: duration("time limit of one attempt (where its route has none)"),
  once: flag("do it once and exit (one task)"),
  drain: flag("exit when nothing is left to do; with 1 if a task failed meanwhile"),
  exit_zero: flag("exit with 0 also if a task failed (--drain)"),
  max_tasks: count("exit after N tasks"),
  grace: duration("time for running tasks after a stop (default: no limit)"),
  kill_after: duration("time between SIGTERM and SIGKILL (default: 5s)"),
  poll_interval: duration("time between polls (default: 5s)"),
  heartbeat_interval: duration("time between heartbeats (default: 30s)"),
  durability: z.optional(
    z
      .enum(["safe", "fast"])
      .check(z.describe("safe (default): survives power loss; fast: survives the process only")),
  ),
  max_iterations: amount("same as --max-tasks (swarm-lib; 0: no limit)"),
});

export type WorkInput = z.output<typeof input>;

type End = { outcome: string; note?: string };

/** What `viv work` emits. */
export type WorkEvent =
  | Extract<WorkerEvent, { kind: "started" | "held" | "reloaded" | "stopping" }>
  | { kind: "claimed"; id: string; type: string; attempt: number; snake?: string }
  | ({ kind: "ended"; id: string; type: string; attempt: number; duration_ms: number } & End & {
        to?: string;
        retry_at?: string;
      })
  | ({ kind: "proven"; id: string; snake: string | null; how: string; unproven?: string } & End)
  | { kind: "trouble"; id?: string; code: string; message: string }
  | ({ kind: "landing" } & BesideEvent)
  | ({ kind: "finished" } & WorkReport);

export type WorkReport = WorkerReport & { failed?: string[]; left?: LeftBehind };

const report = z.object({
  attempts: z.number(),
  done: z.number(),
  review: z.number(),
  other: z.number(),
  /** Tasks that went to failed/ while it drained. */
  failed: z.optional(z.array(z.string())),
  /** Tasks that it did not wait for. */
  left: z.optional(z.object({ tasks: z.number(), reasons: z.array(z.string()) })),
});

export const work = defineRunStream({
  name: "work",
  summary: "claim tasks and run a handler for each",
  access: "create",
  input,
  event: events<WorkEvent>(),
  output: report,
  drains: true,
  async check({ here: { config, cwd }, use }, given) {
    if (given.worker_id !== undefined) assertNewName("worker name", given.worker_id);
    timeLimit(given.timeout);
    if (!given.handler) return void routesIn(config, cwd);
    const problem = (await use(installedPort))(programAt(given.handler, cwd));
    // A command line is a habit from elsewhere.
    const hint = /\s/.test(given.handler)
      ? "; arguments go into a script, or into handler = [...]"
      : "";
    if (problem) throw new VivError("USAGE", `--handler: ${problem.replace(/;.*/, "")}${hint}.`);
  },
  async *stream(context, given) {
    const { here, store } = context;
    const host = await context.use(workerHostPort);
    await assertRoutes(given, here.config, host);
    const isPit = store.extension(WORK_SITE) !== null;
    const begin = new Date(context.now()).toISOString();
    return yield* serve<WorkEvent, WorkReport>(context, (emit) => {
      const onEvent = (event: WorkerEvent) => emit(asEmitted(event, isPit));
      const { worker, follow, left } = workerFor(context, given, host, onEvent);
      return {
        stop: () => worker.stop(),
        stopNow: () => worker.stopNow(),
        run: async () => {
          const unfollow = follow?.(await context.use(configWatchPort));
          const warn = (message: string, code: string) => emit({ kind: "trouble", code, message });
          const sealer = keepSealed(store.ledgerFolder, { now: context.now, warn });
          const report = await worker.run().finally(async () => {
            unfollow?.();
            await sealer.stop();
          });
          const failed = given.drain ? await failedSince(store, begin) : undefined;
          const behind = given.drain ? await left() : null;
          const ended = { ...report, failed, ...(behind && { left: behind }) };
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
      const { kind, claim, end } = event;
      const { task_id: id, task_type: type } = claim.task;
      const duration_ms = Math.round(event.durationMs);
      const base = { kind, id, type, attempt: claim.attempt };
      if (end.kind === "lost") return { ...base, outcome: "lost", duration_ms };
      const { outcome, note, ended } = end;
      return { ...base, outcome, to: ended.to, duration_ms, note, retry_at: ended.retryAt };
    }
    case "proven": {
      const { id, snake, how, note, unproven } = event.result;
      const outcome = ["proven", "eaten", "review"].includes(how) ? "done" : how;
      return { kind: "proven", id, snake, how, outcome, note, unproven };
    }
    case "landing":
      return { kind: "landing", ...event.landing };
    case "trouble": {
      const { error, claim } = event;
      const message = messageOf(error);
      const code = isVivError(error) ? error.code : "BUG";
      return { kind: "trouble", id: claim?.task.task_id, code, message };
    }
    default:
      return event;
  }
}

const GATE_FULL = "the machine's gate is full; see: viv gate";

/** A worker as these flags and this viv.toml describe it, and what lets it follow that file. */
function workerFor(
  context: RunContext,
  given: WorkInput,
  host: WorkerHost,
  onEvent: (event: WorkerEvent) => void,
): {
  worker: Worker;
  follow?: (watch: WatchConfig) => () => void;
  left: () => Promise<LeftBehind | null>;
} {
  const { store, now, here } = context;
  const name = assertNewName("worker name", given.worker_id ?? defaultName(store));
  const reload =
    given.handler || here.config === undefined
      ? undefined
      : new Reload(here.config, host, {
          ...{ now, emit: onEvent },
          remark: (text) => worker.remark(text),
        });
  const lasting: Lasting = { worker: name, budget: new SharedBudget(store, now), reload };
  const optionsFor = (config: Config | undefined) =>
    optionsOf({ ...context, here: { ...here, config } }, given, host, onEvent, lasting);
  const worker = new Worker(store, host, optionsFor(here.config));
  const { config } = here;
  const left = () => leftBehind(store, lasting);
  if (reload === undefined || config === undefined) return { worker, left };
  const onError = (error: unknown) => onEvent({ kind: "trouble", error });
  // One after the other: the last content counts.
  let taken = Promise.resolve();
  const take = (read: ConfigRead) => {
    taken = taken.then(() => reload.take(read, worker, optionsFor)).catch(onError);
  };
  return { worker, left, follow: (watch) => watch(config.file, take, { counts: config.text }) };
}

/** What a worker keeps when its settings change. */
interface Lasting {
  worker: string;
  budget: SharedBudget;
  slots?: EngineSlots;
  reload?: Reload;
  /** As the last viv.toml has them. */
  spaces?: HeldBack | null;
  types?: readonly string[] | null;
}

function optionsOf(
  { store, now, here: { config } }: RunContext,
  given: WorkInput,
  host: WorkerHost,
  onEvent: (event: WorkerEvent) => void,
  lasting: Lasting,
): WorkerOptions {
  const { worker, budget: sharedBudget, reload } = lasting;
  const concurrency = given.concurrency ?? 1;
  const ofFlag = given.handler ? plainRoute(host, [programAt(given.handler, host.cwd)]) : null;
  const find = ofFlag ? () => ofFlag : fromConfig(config, host);
  const types = typesFor(given, config, store.reservedTypes);
  const limits = config?.section(limitsSection);
  const routes = ofFlag || config === undefined ? new Map() : config.section(routesSection);
  const budget = config?.section(budgetSection) ?? { run: {}, day: {} };
  const prices = config?.section(pricesSection) ?? new Map();
  const onError = (error: unknown) => onEvent({ kind: "trouble", error });
  const spent = config && spentCheck(config, sharedBudget, now);
  const spaces = ofFlag || config === undefined ? null : heldBackIn(config, now, host.workspaceUse);
  lasting.spaces = spaces;
  lasting.types = types;
  const usesModels = [...routes.values()].some(({ engine }) => engine !== undefined);
  if (usesModels && host.gate) lasting.slots ??= engineSlots(host.gate, worker);
  const { slots } = lasting;
  return {
    worker,
    slotNames: snakesOf(store, worker, concurrency),
    types,
    routeFor: find,
    concurrency,
    maxTasks: mostTasks(given),
    drain: given.drain,
    graceMs: parseOptionalDuration(given.grace, "--grace"),
    timeoutMs: timeLimit(given.timeout),
    killAfterMs: parseOptionalDuration(given.kill_after, "--kill-after") ?? 5_000,
    logBytes: limits?.logBytes ?? DEFAULT_LOG_BYTES,
    // A quarter of what workspaces may take at most.
    setupBytes: Math.min(
      limits?.setupBytes ?? DEFAULT_SETUP_BYTES,
      (limits?.workspaceBytes ?? Number.POSITIVE_INFINITY) / 4,
    ),
    pollMs: interval(given.poll_interval, "--poll-interval") ?? 5_000,
    heartbeatMs: interval(given.heartbeat_interval, "--heartbeat-interval") ?? 30_000,
    reapEveryMs: 1_000,
    reviewLimit: limits?.review,
    prices,
    budget,
    sharedBudget,
    slots,
    closedTypes: closedTypes({
      ...{ accounts: host.accounts, routes, types, now, spent },
      onWarning: (message) => onError(new VivError("CORRUPT", message)),
      full: slots && (() => (slots.room() === 0 ? GATE_FULL : null)),
      held: (type) => {
        const text = reload?.heldBack(type) ?? null;
        return text === null ? (spaces?.of(type) ?? null) : { until: null, text };
      },
    }),
    beforeClaim: async () => {
      await reload?.lookAgain();
      await spaces?.refresh();
      if (spent) await sharedBudget.refresh();
    },
    mostAtOnce: spent && (() => sharedBudget.room(budget)),
    config,
    onReaped: usesModels ? settleReaped(store, host, find, prices, onError) : undefined,
    onEvent,
  };
}

/** The least of what is asked for. An empty poll counts for none of them, as in swarm-lib. */
function mostTasks({ once, max_tasks, max_iterations }: WorkInput): number | undefined {
  const limits = [once && 1, max_tasks, max_iterations].filter((n): n is number => Boolean(n));
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

/** A pit has one snake for each claim at a time. */
function snakesOf(store: Store, worker: string, concurrency: number): string[] | undefined {
  if (store.extension(WORK_SITE) === null || concurrency === 1) return undefined;
  return Array.from({ length: concurrency }, (_, i) => `${worker}-${i + 1}`);
}

/** Finds mistakes in the flags of a worker, and starts none. */
export async function checkWorker(context: RunContext, given: WorkInput): Promise<void> {
  workerFor(context, given, await context.use(workerHostPort), () => {});
}

/** Throws for mistakes that would fail every task of a type. */
async function assertRoutes(
  given: WorkInput,
  config: Config | undefined,
  host: WorkerHost,
): Promise<void> {
  if (given.handler || config === undefined) return;
  const wanted = typesFor(given, config)?.map((type) => routeFor(config, type));
  const routes = new Set(wanted ?? config.section(routesSection).values());
  await checkRoutes(
    [...routes].filter((route) => route !== undefined),
    config,
    host,
  );
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
    // Without its amounts, which change with each step of the other attempts.
    if (over.isShared) return { until: now() + LOOK_AGAIN_MS, text: RESERVED };
    const midnight = (Math.floor(now() / DAY_MS) + 1) * DAY_MS;
    return { until: over.which === "day" ? midnight : null, text: over.text };
  };
}

const RESERVED =
  "the rest of the budget is reserved by running attempts, and comes back when they end; see: viv costs";
const LOOK_AGAIN_MS = 250;
const DAY_MS = 86_400_000;

function interval(given: Duration | undefined, flag: string): number | undefined {
  const ms = parseOptionalDuration(given, flag);
  return ms === undefined ? undefined : Math.max(50, ms);
}

function timeLimit(given: Duration | undefined): number | undefined {
  const timeoutMs = parseOptionalDuration(given, "--timeout");
  if (timeoutMs !== 0) return timeoutMs;
  throw new VivError("USAGE", "--timeout must be more than zero; without it there is no limit.");
}

/** Reserved types only when they are named. */
function typesFor(
  given: WorkInput,
  config: Config | undefined,
  reserved: readonly string[] = [],
): readonly string[] | null {
  const asked = (given.types ?? []).filter(Boolean);
  for (const type of asked) assertTypeName(type);
  const routed = given.handler || config === undefined ? null : typesOf(config);
  if (asked.length === 0) return routed?.filter((type) => !reserved.includes(type)) ?? null;
  const missing = routed === null ? [] : asked.filter((type) => !routed.includes(type));
  if (missing.length > 0) {
    const message = `there is no handler for ${missing.join(", ")}; add [handlers.${missing[0]}] to ${config?.file}, or pass --handler.`;
    throw new VivError("INVALID", message);
  }
  return asked;
}

/** The viv.toml that has routes. */
function routesIn(config: Config | undefined, cwd: string): Config {
  if (config !== undefined && config.section(routesSection).size > 0) return config;
  const where = config ? `${config.file} has none` : `there is no viv.toml at or above ${cwd}`;
  const message = `which handler? Pass --handler PATH, or write [handlers.default] into viv.toml (${where}).`;
  throw new VivError("USAGE", message);
}

function fromConfig(
  given: Config | undefined,
  host: WorkerHost,
): (type: string) => ReadyRoute | undefined {
  const config = routesIn(given, host.cwd);
  return (type) => routeFromConfig(config, host, type);
}

/** A file in `cwd` comes before one in PATH, as in swarm-lib. */
function programAt(handler: string, cwd: string): string {
  const here = resolve(cwd, handler);
  return handler.includes("/") || existsSync(here) ? here : handler;
}

function defaultName(store: Store): string {
  if (store.extension(WORK_SITE) !== null) return `snake-${process.pid}`;
  const host = hostname()
    .replace(/[^A-Za-z0-9-]/g, "-")
    .replace(/^-+/, "")
    .slice(0, 60);
  return `${host || "worker"}-${process.pid}`;
}
