import type { KeptEnd } from "./keep-alive.ts";

/**
 * Lets several live side by side, one for one: what happens to one is no matter of the others, each
 * sees to itself. Here they are only started and stopped together.
 *
 * - `drain`: it stops by itself when every member that can end by itself has done so, or is parked,
 *   and none of them had anything to do since the others looked: who ended early is started once
 *   more, because those who worked on may have left something for it.
 * - else: until `stop()`, which waits for what is in flight, or `stopNow()`, which does not.
 */
export interface Member {
  readonly name: string;
  /** In the middle of something that a stop waits for. */
  readonly isBusy: boolean;
  /** When it has ended by itself, or never will be started again; undefined: it never ends. */
  readonly over: Promise<KeptEnd> | undefined;
  /** Since it was started, or started again. */
  readonly hasWorked: boolean;
  start(): void;
  /** When it has ended by itself; else nothing. */
  startAgain(): void;
  stop(): Promise<void>;
  stopNow(): Promise<void>;
}

export interface SupervisorOptions {
  drain: boolean;
  onStopping?: (busy: string[]) => void;
}

export class Supervisor {
  readonly #members: readonly Member[];
  readonly #options: SupervisorOptions;
  #stopping: Promise<void> | undefined;
  #isHasty = false;
  #resolve: () => void = () => {};
  readonly #stopped: Promise<void>;

  constructor(members: readonly Member[], options: SupervisorOptions) {
    this.#members = members;
    this.#options = options;
    this.#stopped = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Until it is stopped, or drained; "drained" when nobody had to stop it. */
  async run(): Promise<"stopped" | "drained"> {
    let isDrained = false;
    if (this.#stopping === undefined) for (const member of this.#members) member.start();
    if (this.#options.drain) {
      void this.#drained().then(() => {
        isDrained = this.#stopping === undefined;
        void this.stop();
      });
    }
    await this.#stopped;
    return isDrained ? "drained" : "stopped";
  }

  /** Everybody finishes what they have begun. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    await this.#stopping;
  }

  /** What is begun is given back. */
  async stopNow(): Promise<void> {
    if (!this.#isHasty) {
      this.#isHasty = true;
      void this.stop();
      await Promise.all(this.#members.map((member) => member.stopNow()));
    }
    await this.#stopping;
  }

  async #drained(): Promise<void> {
    for (;;) {
      await Promise.all(this.#members.map(({ over }) => over));
      const isAllDone = !this.#members.some(({ hasWorked }) => hasWorked);
      if (isAllDone || this.#stopping !== undefined) return;
      for (const member of this.#members) member.startAgain();
    }
  }

  async #stop(): Promise<void> {
    this.#options.onStopping?.(this.#members.filter((one) => one.isBusy).map(({ name }) => name));
    await Promise.all(this.#members.map((member) => member.stop()));
    this.#resolve();
  }
}
