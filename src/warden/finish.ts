import { isVivError } from "../base/errors.ts";
import type { Store } from "../queue/store.ts";
import type { Dance, Receipt } from "./dance.ts";
import { epitaphOf } from "./epitaph.ts";
import type { WardenHost } from "./warden-host.ts";

/**
 * Writes the receipt and the epitaph of a dance that has its outcome, gives back a worker's claims, and
 * removes the dance. Each step is the same when it is done again, so a restart may begin anew. The
 * requester is notified afterwards (`notifier.ts`): the marker `untold/DOG` asks for it.
 */
export async function finishDance(dance: Dance, host: WardenHost): Promise<Receipt | null> {
  const { files } = host;
  const fresh = receiptOf(dance);
  if (fresh === null) return null;
  let receipt = files.receipt(dance.id) ?? fresh;
  const write = () => {
    files.writeReceipt(receipt);
    files.writeEpitaph(receipt.warrant.id, epitaphOf(receipt));
  };
  write();
  const isWorker = receipt.verdict === "executed" && receipt.warrant.kind === "worker";
  if (isWorker) receipt = { ...receipt, reaped: merged(receipt.reaped, await host.reap(receipt)) };
  write();
  if (receipt.told.length === 0) files.markUntold(dance.id);
  files.markDone(dance.id, receipt.verdict);
  files.forgetWithdrawal(dance.warrant.id);
  files.forgetAnswers(dance.attempts.map(({ nonce }) => nonce));
  files.remove(dance.id);
  return receipt;
}

function merged(before: readonly string[], now: readonly string[]): string[] {
  return [...new Set([...before, ...now])];
}

function receiptOf(dance: Dance): Receipt | null {
  const { outcome, started_at } = dance;
  if (outcome === null) return null;
  return {
    dog: dance.id,
    ...outcome,
    warrant: dance.warrant,
    bound: dance.bound,
    started_at,
    duration_ms: Math.max(0, Date.parse(outcome.ended_at) - Date.parse(started_at)),
    attempts: dance.attempts,
    screen_before: dance.screen_before,
    tree: dance.tree,
    reaped: [],
    told: [],
  };
}

/** Gives back the claims of an executed worker; their tasks. */
export async function reapClaims(
  receipt: Receipt,
  folder: string,
  open: (run: string) => Promise<Store>,
): Promise<string[]> {
  const { warrant, dog, attempts, started_at } = receipt;
  if (warrant.home === null) return [];
  try {
    return await reapAfter(open, {
      ...{ worker: warrant.target, run: warrant.home },
      receipt: `${folder}/completed/${dog}.json`,
      since: attempts.at(-1)?.ended_at ?? started_at,
    });
  } catch (error) {
    const isPassing = isVivError(error, "DISK_FULL") || isVivError(error, "LOCKED");
    if (isPassing || !isVivError(error)) throw error;
    return []; // the run is gone, or not ours to write: then its own reaper gives them back
  }
}

/**
 * After an execution of a worker: its claims go back to the queue at once, and the attempts that ended
 * so since then name the receipt, also those that another reaper ended. Returns their tasks; the same
 * when it is done again.
 */
export async function reapAfter(
  open: (run: string) => Promise<Store>,
  { worker, run, receipt, since }: ReapRequest,
): Promise<string[]> {
  const store = await open(run);
  try {
    await store.reap({ worker, execution: { receipt, since } });
    const tasks = new Set<string>();
    // A day earlier: a clock may have been set back meanwhile.
    const from = new Date(Date.parse(since) - 86_400_000).toISOString();
    for await (const { task, receipt: named } of store.ledger({ since: from })) {
      if (task !== undefined && named === receipt) tasks.add(task);
    }
    return [...tasks];
  } finally {
    await store.close();
  }
}

export interface ReapRequest {
  worker: string;
  /** Absolute: the run's directory. */
  run: string;
  /** Absolute: the receipt's path. */
  receipt: string;
  /** ISO: when the execution began. */
  since: string;
}
