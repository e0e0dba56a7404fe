import { isVivError } from "../base/errors.ts";
import { SharedBudget } from "../engines/costs/shared-budget.ts";
import type { Claim, Store } from "../queue/store.ts";
import { Attempt, type AttemptSettings, DEFAULT_LOG_BYTES } from "../work/attempt.ts";
import type { WorkerHost } from "../work/host.ts";
import { plainRoute } from "../work/ready-route.ts";
import type { Beside, ProvenResult, WorkerOptions } from "../work/worker-options.ts";
import { type HandResult, PROVER, pitOf } from "./pit-store.ts";

/** Routes and settings of a worker; without them, proofs run plainly: no sandbox, no time limit. */
type Proving = Pick<WorkerOptions, "routeFor"> & AttemptSettings;

/**
 * Proves the results that snakes put into done/ by hand: takes each as a claim of its own and runs its
 * `done_when`, as after an attempt of a worker. Results that nothing can prove are counted. One pass.
 */
export async function proveResults(
  store: Store,
  host: WorkerHost,
  proving: Proving = plainProving(store),
): Promise<ProvenResult[]> {
  const pit = pitOf(store);
  const results = ((await pit?.handResults()) ?? []).filter((result) => result.ready);
  if (pit === null || results.length === 0) return [];
  const ready = results.filter(({ state }) => state !== "unknown");
  const eaten = ready.length < results.length ? await pit.countUnknown() : [];
  const counted = eaten.map((id): ProvenResult => ({ id, snake: null, how: "eaten" }));
  if (ready.length === 0) return counted;
  const worker = `${PROVER}${process.pid}`;
  // Registered, so that the reaper gives the food back if this process dies; for no type, because it
  // claims no tasks.
  const registration = await store.register(worker, { types: ["none"] });
  try {
    const proven: ProvenResult[] = counted;
    for (const result of ready) {
      const one = await proveOne(store, host, proving, worker, result);
      if (one) proven.push(one);
    }
    return proven;
  } finally {
    await registration.release();
  }
}

function plainProving(store: Store): Proving {
  return {
    routeFor: () => undefined,
    killAfterMs: 5_000,
    logBytes: DEFAULT_LOG_BYTES,
    prices: new Map(),
    budget: { run: {}, day: {} },
    sharedBudget: new SharedBudget(store),
  };
}

async function proveOne(
  store: Store,
  host: WorkerHost,
  { routeFor, onIdle: _, onError: __, ...settings }: Proving,
  worker: string,
  { id, snake }: HandResult,
): Promise<ProvenResult | null> {
  let claim: Claim | null | undefined;
  try {
    claim = await pitOf(store)?.takeForProof(id, worker);
  } catch (error) {
    if (!isVivError(error, "CORRUPT")) throw error;
  }
  if (!claim) return null;
  const route = routeFor(claim.task.task_type) ?? plainRoute(host);
  let unproven: string | null | undefined;
  const end = await new Attempt(claim, route, store, host, settings).proveOnly(async () => {
    unproven = await pitOf(store)?.markUnproven(id);
  });
  if (end.kind === "lost") return { id, snake, how: "lost" };
  const { outcome, note, ended } = end;
  if (outcome !== "done") return { id, snake, how: outcome, note, unproven: unproven ?? undefined };
  if (ended.to === "review") return { id, snake, how: "review" };
  const isProven = (await store.proof(id))?.attempt === claim.attempt;
  return { id, snake, how: isProven ? "proven" : "eaten" };
}

const EVERY_MS = 2_000;

/**
 * Proves results beside a worker until it is stopped, which waits for the last pass. Passes never overlap; after an error the next pass comes all the same.
 */
export function proveBeside(store: Store, host: WorkerHost, options: WorkerOptions): Beside {
  let pass: Promise<void> | null = null;
  let restsUntil = 0;
  const proveOnce = async () => {
    const begin = performance.now();
    try {
      for (const result of await proveResults(store, host, options)) {
        options.onEvent?.({ kind: "proven", result });
      }
    } catch (error) {
      options.onEvent?.({ kind: "trouble", error });
    }
    // A pass over thousands of results takes at most a twentieth of the time.
    const end = performance.now();
    restsUntil = end + 20 * (end - begin);
  };
  const timer = setInterval(() => {
    if (performance.now() < restsUntil) return;
    pass ??= proveOnce().finally(() => {
      pass = null;
    });
  }, EVERY_MS);
  const stop = async () => {
    clearInterval(timer);
    await pass;
  };
  return { stop };
}
