import { isVivError } from "../base/errors.ts";
import type { Claim, Store } from "../queue/store.ts";
import {
  Attempt,
  type AttemptEnd,
  type AttemptSettings,
  type ReadyRoute,
} from "../work/attempt.ts";
import type { WorkerHost } from "../work/host.ts";
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

export interface ProvenResult {
  id: string;
  snake: string | null;
  end: AttemptEnd;
  /** What the result is called now, if it was not borne out. */
  unproven?: string;
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
  return { id, snake, end, ...(unproven ? { unproven } : {}) };
}
