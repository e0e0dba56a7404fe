import type { ClaimTree, Clock, Machine, ProcessIdentity } from "../../src/base/clock.ts";

/**
 * A machine with a clock that tests move and processes that tests kill. The wall clock begins now,
 * because the files of a run carry the real time; it stands still unless a test moves it.
 */
export class FakeHost {
  readonly clock: Clock = { now: () => this.#now(), uptime: () => this.#uptime };
  /** Called at every look at the wall clock: lets a test act between two steps of a transition. */
  onLook: (() => void) | undefined;
  #wall = Date.now();
  #uptime = 1_000;
  #boot = "boot-1";
  #pids = 100;
  readonly #dead = new Set<number>();
  /** Process trees that would not die, by their leaders. */
  readonly stubborn = new Set<number>();
  /** Called when somebody ends a tree, before it dies. */
  onEnd: ((tree: ClaimTree) => void) | undefined;

  #now(): number {
    this.onLook?.();
    return this.#wall;
  }

  /** Time passes. */
  advance(ms: number): void {
    this.#wall += ms;
    this.#uptime += ms / 1000;
  }

  /** Somebody sets the clock; no time passes. */
  jumpWall(ms: number): void {
    this.#wall += ms;
  }

  /** All processes are gone, and the clock of the new boot begins. */
  reboot(): void {
    this.#boot = `boot-${Number(this.#boot.slice(5)) + 1}`;
    this.#uptime = 10;
  }

  /** A handler's process tree, as its worker would note it. */
  tree(): { pid: number; started: string; claim: string } {
    const pid = this.#pids++;
    return { pid, started: `s${pid}`, claim: `claim-${pid}` };
  }

  isAlive(pid: number): boolean {
    return !this.#dead.has(pid);
  }

  /** It ends by itself. */
  endProcess(pid: number): void {
    this.stubborn.delete(pid);
    this.#dead.add(pid);
  }

  #end(tree: ClaimTree): number[] {
    this.onEnd?.(tree);
    if (this.stubborn.has(tree.pid)) return [tree.pid];
    this.#dead.add(tree.pid);
    return [];
  }

  /** One process of this machine. */
  process(): Machine & { die(): void } {
    const pid = this.#pids++;
    const self: ProcessIdentity = {
      host: "fake",
      boot: this.#boot,
      pid,
      started: `s${pid}`,
    };
    return {
      clock: this.clock,
      self: () => self,
      bootId: () => this.#boot,
      vitality: (other) => {
        if (other.host !== "fake") return "unknown";
        if (other.boot !== this.#boot || this.#dead.has(other.pid)) return "gone";
        return other.started === `s${other.pid}` ? "alive" : "gone";
      },
      leftovers: { end: async (tree) => this.#end(tree) },
      die: () => void this.#dead.add(pid),
    };
  }
}
