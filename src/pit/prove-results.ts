import { isVivError } from "../base/errors.ts";
import { SharedBudget } from "../engines/costs/shared-budget.ts";
import type { Claim, Store } from "../queue/store.ts";
import {
  Attempt,
  type AttemptSettings,
  DEFAULT_LOG_BYTES,
  type ReadyRoute,
} from "../work/attempt.ts";
import type { WorkerHost } from "../work/host.ts";
import { inheritedEnv } from "../work/place.ts";
import type { ProvenResult, WorkerOptions } from "../work/worker.ts";
import { type HandResult, pitOf } from "./store.ts";

/**
 * Results that a snake put into done/ by hand are its word. Here each is taken as a claim of our own
 * and its `done_when` is run, as after an attempt of a worker. One pass.
 */
export interface ProveOptions {
  /** A name that nobody else works under. */
  worker: string;
  routeFor(type: string): ReadyRoute;
  settings: AttemptSettings;
}

/** As the worker proves them, or else plainly: only where it runs, and in which sandbox. */
export function provingFor(
  store: Store,
  host: WorkerHost,
  options?: Pick<WorkerOptions, "routeFor"> & AttemptSettings,
): ProveOptions {
  const plain: ReadyRoute = {
    ...{ type: "default", handler: [], workspace: "none", sandbox: [], folder: host.cwd },
    env: inheritedEnv(host.env, { env: [], inheritsAll: true }),
  };
  const { onIdle: _, onError: __, ...settings } = options ?? plainSettings(store);
  return {
    worker: `sweep-${process.pid}`,
    routeFor: (type) => options?.routeFor(type) ?? plain,
    settings,
  };
}

function plainSettings(store: Store): AttemptSettings {
  return {
    killAfterMs: 5_000,
    logBytes: DEFAULT_LOG_BYTES,
    prices: new Map(),
    budget: { run: {}, day: {} },
    sharedBudget: new SharedBudget(store),
  };
}

export async function proveResults(
  store: Store,
  host: WorkerHost,
  options: ProveOptions,
): Promise<ProvenResult[]> {
  const pit = pitOf(store);
  const ready = ((await pit?.handResults()) ?? []).filter((result) => result.ready);
  if (pit === null || ready.length === 0) return [];
  // As a registered worker: should we die, the reaper gives the food back.
  const registration = await store.register(options.worker, { types: [NO_TYPE] });
  try {
    const proven: ProvenResult[] = [];
    for (const result of ready) {
      const one = await proveOne(store, host, options, result);
      if (one) proven.push(one);
    }
    return proven;
  } finally {
    await registration.release();
  }
}

/** It proves, and takes no tasks: nobody may leave one to it. */
const NO_TYPE = "none";

async function proveOne(
  store: Store,
  host: WorkerHost,
  { worker, routeFor, settings }: ProveOptions,
  { id, snake }: HandResult,
): Promise<ProvenResult | null> {
  let claim: Claim | null | undefined;
  try {
    claim = await pitOf(store)?.takeForProof(id, worker);
  } catch (error) {
    if (!isVivError(error, "CORRUPT")) throw error;
  }
  if (!claim) return null;
  let unproven: string | null | undefined;
  const attempt = new Attempt(claim, routeFor(claim.task.task_type), store, host, settings);
  const end = await attempt.proveOnly(async () => {
    unproven = await pitOf(store)?.markUnproven(id);
  });
  return { id, snake, end, unproven: unproven ?? undefined };
}
