import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { VivError } from "../base/errors.ts";
import { idWord } from "../base/names.ts";
import type { Config } from "../base/section.ts";
import { MachineRetry } from "../platform/machine-retry.ts";
import type { Claim, Store } from "../queue/store.ts";
import { DEFAULT_LOG_BYTES } from "./attempt.ts";
import { limitsSection } from "./config-route.ts";
import { type AttemptEnd, Ending } from "./ending.ts";
import type { WorkerHost } from "./host.ts";
import { type AttemptContext, placeFor } from "./place.ts";
import { prove } from "./proof.ts";
import { plainRoute, routeFromConfig } from "./ready-route.ts";
import { Runner, type RunnerContext } from "./runner.ts";

const KILL_AFTER_MS = 5_000;
/** A shell's claim is stale after five minutes without a sign of life, and a proof may take ten. */
const BEAT_MS = 30_000;

/**
 * The proof of a claim that a person or a script holds, and the end that follows, as after an attempt
 * of a worker. It runs in the task's workspace, if there is one, else here. When it is stopped, the
 * claim stays as it was.
 */
export async function proveClaim(
  claim: Claim,
  { store, host, config }: { store: Store; host: WorkerHost; config: Config | undefined },
  { note, signal }: { note?: string; signal: AbortSignal },
): Promise<AttemptEnd> {
  const { id, worker, token } = claim;
  const found = config && routeFromConfig(config, host, claim.type);
  const route = { ...(found ?? plainRoute(host)) };
  if (!existsSync(join(store.workspaces, id))) route.workspace = "none";
  const retry = new MachineRetry(() => {});
  const ref = { id, worker, token };
  const context: AttemptContext = { claim, id, ref, route, store, host, retry };
  const logBytes = config?.section(limitsSection).logBytes ?? DEFAULT_LOG_BYTES;
  const runner = new Runner(
    { ...context, store: withOwnMark(store) },
    { killAfterMs: KILL_AFTER_MS, logBytes },
  );
  const stop = () => runner.stop("it was interrupted");
  signal.addEventListener("abort", stop);
  const beats = setInterval(() => {
    // Without it the claim's own age counts.
    store.heartbeat(worker, { note: `proves ${id}`, token }).catch(() => {});
  }, BEAT_MS);
  try {
    const place = await placeFor(context);
    return await prove(context, runner, new KeptEnding(context), { place, note }, async () => {});
  } finally {
    clearInterval(beats);
    signal.removeEventListener("abort", stop);
  }
}

/**
 * What is left of a call that was killed is ended by its mark, some time later. This call is about the
 * same claim, so it has a mark of its own.
 */
function withOwnMark(store: Store): RunnerContext["store"] {
  const { folder, noteProcess, forgetProcess } = store;
  const call = randomBytes(8).toString("hex");
  const claimMark: Store["claimMark"] = (claim) => `proof:${call}:${store.claimMark(claim)}`;
  return { folder, noteProcess, forgetProcess, claimMark };
}

/** A person who interrupts a proof still has the claim, and the work. */
class KeptEnding extends Ending {
  override released(why: string): Promise<AttemptEnd> {
    const { id, worker } = this.context.ref;
    const again = `viv complete ${idWord(id)} --worker ${worker}`;
    const message = `the proof of ${id} did not end: ${why}. It is still claimed by ${worker}; go on with: ${again}`;
    throw new VivError("LOCKED", message, { id, worker });
  }
}
