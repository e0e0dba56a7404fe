import type { Dance, Receipt } from "./dance.ts";
import type { WardenHost } from "./ports.ts";

/**
 * What comes of a dance that has its outcome. Each step is the same when it is done again, so a
 * restart may begin anew. Its requester is told afterwards (`Teller`): the marker says that it must be.
 */
export async function finishDance(dance: Dance, host: WardenHost): Promise<Receipt | null> {
  const { files } = host;
  const fresh = receiptOf(dance);
  if (fresh === null) return null;
  let receipt = files.receipt(dance.id) ?? fresh;
  const write = () => {
    files.writeReceipt(receipt);
    files.writeEpitaph(receipt.warrant.id, host.epitaph(receipt));
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
