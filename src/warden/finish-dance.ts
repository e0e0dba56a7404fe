import { isVivError } from "../base/errors.ts";
import type { Store } from "../queue/store.ts";
import type { Dance, Receipt } from "./dance.ts";
import { epitaphOf } from "./epitaph.ts";
import type { WardenHost } from "./warden-host.ts";

/**
 * Writes the receipt and the epitaph of a dance that has its outcome, gives back a worker's claims, and
 * removes the dance. Each step can be repeated, so a restart may begin anew. The marker `untold/DOG`
 * makes the `Notifier` notify the requester afterwards.
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
  if (receipt.verdict === "executed" && receipt.warrant.kind === "worker") {
    const reaped = new Set([...receipt.reaped, ...(await host.reap(receipt))]);
    receipt = { ...receipt, reaped: [...reaped] };
  }
  write();
  if (receipt.told.length === 0) files.markUntold(dance.id);
  files.markDone(dance.id, receipt.verdict);
  files.forgetWithdrawal(dance.warrant.id);
  files.forgetAnswers(dance.attempts.map(({ nonce }) => nonce));
  files.remove(dance.id);
  return receipt;
}

function receiptOf(dance: Dance): Receipt | null {
  const { id, outcome, warrant, bound, started_at, attempts, screen_before, tree } = dance;
  if (outcome === null) return null;
  const duration_ms = Math.max(0, Date.parse(outcome.ended_at) - Date.parse(started_at));
  const receipt = { dog: id, ...outcome, warrant, bound, started_at, duration_ms, attempts };
  return { ...receipt, screen_before, tree, reaped: [], told: [] };
}

/** Gives back the claims of an executed worker; the ids of their tasks. */
export async function reapClaims(
  { warrant, dog, attempts, started_at }: Receipt,
  folder: string,
  open: (run: string) => Promise<Store>,
): Promise<string[]> {
  if (warrant.home === null) return [];
  const receipt = `${folder}/completed/${dog}.json`;
  const since = attempts.at(-1)?.ended_at ?? started_at;
  try {
    return await reapAfter(await open(warrant.home), warrant.target, { receipt, since });
  } catch (error) {
    const isPassing = isVivError(error, "DISK_FULL") || isVivError(error, "LOCKED");
    if (isPassing || !isVivError(error)) throw error;
    return []; // the run is gone, or not ours to write: then its own reaper gives them back
  }
}

/**
 * Gives back the worker's claims at once. Attempts that ended by the execution name the receipt, also
 * those that another reaper ended. Returns their tasks; a repetition returns the same. Closes the store.
 */
export async function reapAfter(
  store: Store,
  worker: string,
  execution: { receipt: string; since: string },
): Promise<string[]> {
  try {
    await store.reap({ worker, execution });
    const tasks = new Set<string>();
    // A day earlier: a clock may have been set back meanwhile.
    const since = new Date(Date.parse(execution.since) - 86_400_000).toISOString();
    for await (const { task, receipt } of store.ledger({ since })) {
      if (task !== undefined && receipt === execution.receipt) tasks.add(task);
    }
    return [...tasks];
  } finally {
    await store.close();
  }
}
