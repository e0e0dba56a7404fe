import type { HeldNotice, Receipt } from "./dance.ts";
import type { WardenEvent, WardenHost } from "./ports.ts";

/** More would be a burden of its own when a whole queue has ended at once. */
const AT_ONCE = 5;

/**
 * Tells requesters, beside the pool: a hook may take half a minute, and no dog waits for it. What is
 * still to be told is on disk (`untold/DOG`, a dance's `held`), so a crash means to tell it again.
 */
export class Teller {
  readonly #host: WardenHost;
  readonly #tell: (event: WardenEvent) => void;
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #running = new Set<Promise<void>>();
  #isStopping = false;

  constructor(host: WardenHost, tell: (event: WardenEvent) => void) {
    this.#host = host;
    this.#tell = tell;
  }

  /** Verdicts that a warden before us did not come to tell. */
  start(): void {
    const { files } = this.#host;
    const open = new Set(files.dances().map(({ id }) => id)); // told when they are finished anew
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
      const told = await this.#host.tellRequester(receipt);
      files.writeReceipt({ ...receipt, told });
      files.writeEpitaph(warrant.id, this.#host.epitaph({ ...receipt, told }));
      files.forgetUntold(dog);
      this.#report(dog, told);
    });
  }

  /** `then` writes down that it was. */
  held(notice: HeldNotice, then: () => void): void {
    this.#add(async () => {
      const told = await this.#host.tellHeld(notice);
      then();
      this.#report(notice.dog, told);
    });
  }

  /** What is under way is waited for; what waits is told at the next start. */
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
        // Told again at the next start: what is to be told is still on disk.
        this.#tell({ kind: "trouble", what: error instanceof Error ? error.message : `${error}` });
      })
      .finally(() => {
        this.#running.delete(running);
        this.#next();
      });
    this.#running.add(running);
  }

  #report(dog: string, told: Receipt["told"]): void {
    for (const { by, trouble } of told) {
      if (trouble !== null) this.#tell({ kind: "trouble", what: `${dog}: ${by}: ${trouble}` });
    }
  }
}
