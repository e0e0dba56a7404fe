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
export class Notifier {
  readonly #host: WardenHost;
  readonly #emit: (event: WardenEvent) => void;
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #running = new Set<Promise<void>>();
  #isStopping = false;

  constructor(host: WardenHost, emit: (event: WardenEvent) => void) {
    this.#host = host;
    this.#emit = emit;
  }

  /** Delivers the verdicts that an earlier warden did not deliver. */
  start(): void {
    const { files } = this.#host;
    const open = new Set(files.dances().map(({ id }) => id)); // delivered when they are finished anew
    for (const dog of files.untold().filter((one) => !open.has(one))) {
      const receipt = files.receipt(dog);
      if (receipt === null) files.forgetUntold(dog);
      else this.verdict(receipt);
    }
  }

  verdict(receipt: Receipt): void {
    const { files } = this.#host;
    const { dog, warrant } = receipt;
    this.#add(async () => {
      const told = await this.#host.notify(receipt);
      files.writeReceipt({ ...receipt, told });
      files.writeEpitaph(warrant.id, epitaphOf({ ...receipt, told }));
      files.forgetUntold(dog);
      this.#report(dog, told);
    });
  }

  held(notice: HeldNotice, notified: () => void): void {
    this.#add(async () => {
      const told = await this.#host.notify(notice);
      notified();
      this.#report(notice.dog, told);
    });
  }

  /** Waits for running deliveries; the rest is delivered at the next start. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#running);
  }

  #add(act: () => Promise<void>): void {
    this.#waiting.push(act);
    this.#next();
  }

  #next(): void {
    if (this.#isStopping || this.#running.size >= AT_ONCE) return;
    const act = this.#waiting.shift();
    if (act === undefined) return;
    const running = act()
      .catch((error: unknown) => {
        // Delivered at the next start: the notice is still on disk.
        this.#emit({ kind: "trouble", what: messageOf(error) });
      })
      .finally(() => {
        this.#running.delete(running);
        this.#next();
      });
    this.#running.add(running);
  }

  #report(dog: string, told: Receipt["told"]): void {
    for (const { by, trouble } of told) {
      if (trouble !== null) this.#emit({ kind: "trouble", what: `${dog}: ${by}: ${trouble}` });
    }
  }
}
