import { messageOf } from "../base/errors.ts";
import type { HeldNotice, Receipt } from "./dance.ts";
import { epitaphOf } from "./epitaph.ts";
import type { WardenEvent, WardenHost } from "./warden-host.ts";

/** More would overload the machine when a whole queue has ended at once. */
const AT_ONCE = 5;

/**
 * Notifies requesters, beside the pool: a hook may take half a minute, and no dog waits for it. Open
 * notices are on disk (`untold/DOG`, a dance's `held`) and are delivered again after a crash.
 */
export function notifier(host: WardenHost, emit: (event: WardenEvent) => void) {
  const { files } = host;
  const waiting: (() => Promise<void>)[] = [];
  const running = new Set<Promise<void>>();
  let isStopping = false;

  const next = () => {
    const deliver = isStopping || running.size >= AT_ONCE ? undefined : waiting.shift();
    if (deliver === undefined) return;
    const delivery = deliver()
      .catch((error: unknown) => {
        // Delivered at the next start: the notice is still on disk.
        emit({ kind: "trouble", what: messageOf(error) });
      })
      .finally(() => {
        running.delete(delivery);
        next();
      });
    running.add(delivery);
  };

  const add = (notice: Receipt | HeldNotice, delivered: (told: Receipt["told"]) => void) => {
    waiting.push(async () => {
      const told = await host.notify(notice);
      delivered(told);
      for (const { by, trouble: error } of told) {
        if (error !== null) emit({ kind: "trouble", what: `${notice.dog}: ${by}: ${error}` });
      }
    });
    next();
  };

  const verdict = (receipt: Receipt) =>
    add(receipt, (told) => {
      files.writeReceipt({ ...receipt, told });
      files.writeEpitaph(receipt.warrant.id, epitaphOf({ ...receipt, told }));
      files.forgetUntold(receipt.dog);
    });

  return {
    /** Delivers the verdicts that an earlier warden did not deliver. */
    start: () => {
      const open = new Set(files.dances().map(({ id }) => id)); // delivered when they are finished anew
      for (const dog of files.untold().filter((one) => !open.has(one))) {
        const receipt = files.receipt(dog);
        if (receipt === null) files.forgetUntold(dog);
        else verdict(receipt);
      }
    },
    verdict,
    held: (notice: HeldNotice, delivered: () => void) => add(notice, delivered),
    /** Waits for running deliveries; the rest is delivered at the next start. */
    stop: async () => {
      isStopping = true;
      await Promise.all(running);
    },
  };
}
