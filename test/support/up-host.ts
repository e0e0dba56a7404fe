import type { AgentState, ServiceState, UpFiles } from "../../src/fleet/up-files.ts";
import type { UpHost } from "../../src/fleet/up-ports.ts";
import { RotatingLog } from "../../src/platform/files/rotating-log.ts";
import type { Child, ChildCommand, ChildEnd } from "../../src/platform/processes/children.ts";
import type { Finished, HandlerCommand } from "../../src/platform/processes/handlers.ts";
import { FakeHost } from "./machine.ts";

/** A machine for `viv up` on which nothing happens by itself: tests end processes and move the time. */
export class FakeUpHost {
  readonly world = new FakeHost();
  readonly machine = this.world.process();
  readonly files = new FakeUpFiles();
  /** All that were ever started, the latest last. */
  readonly children: FakeChild[] = [];
  readonly runs: FakeRun[] = [];
  readonly endedTrees: number[] = [];
  #timers: { at: number; act: () => void }[] = [];

  readonly host: UpHost = {
    machine: this.machine,
    timers: {
      after: (ms, act) => {
        const timer = { at: this.world.clock.uptime() * 1000 + ms, act };
        this.#timers.push(timer);
        return () => {
          this.#timers = this.#timers.filter((one) => one !== timer);
        };
      },
    },
    children: {
      start: (command) => {
        const child = new FakeChild(command, this.world.process().self());
        this.children.push(child);
        return child;
      },
    },
    handlers: {
      start: (command) => {
        const run = new FakeRun(command, this.world.tree());
        this.runs.push(run);
        return run;
      },
      endTree: async ({ pid }) => {
        this.endedTrees.push(pid);
        this.world.endProcess(pid);
        return [];
      },
    },
    filesIn: () => this.files,
    readText: () => "",
    isFolder: () => true,
    workersIn: async () => [],
    followConfig: () => ({ handing: () => ({}), stop: () => {} }),
    newMark: () => `mark-${this.runs.length}`,
  };

  /** What would still happen by itself; a process with such things ahead does not end. */
  get pending(): number {
    return this.#timers.length;
  }

  /** The latest process of that worker. */
  child(name: string): FakeChild {
    const found = this.children.findLast(({ name: one }) => one === name);
    if (!found) throw new Error(`${name} was never started`);
    return found;
  }

  countOf(name: string): number {
    return this.children.filter((child) => child.name === name).length;
  }

  state(name: string): AgentState {
    const found = this.files.agent(name);
    if (!found) throw new Error(`${name} has no file`);
    return found;
  }

  /** Time passes, and what is due happens in its order. */
  async pass(ms: number): Promise<void> {
    const end = this.world.clock.uptime() * 1000 + ms;
    for (;;) {
      await settled();
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.world.advance(Math.max(0, next.at - this.world.clock.uptime() * 1000));
      next.act();
    }
    this.world.advance(Math.max(0, end - this.world.clock.uptime() * 1000));
    await settled();
  }
}

/** Everything that follows from what has happened so far has happened, too. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}

class FakeChild implements Child {
  readonly process: Child["process"];
  readonly ended: Promise<ChildEnd>;
  readonly command: ChildCommand;
  readonly name: string;
  asked = 0;
  isKilled = false;
  #resolve: (end: ChildEnd) => void = () => {};

  constructor(command: ChildCommand, process: Child["process"]) {
    this.command = command;
    this.process = process;
    const flag = command.argv.find((word) => word.startsWith("--worker-id="));
    this.name = flag?.slice("--worker-id=".length) ?? "";
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  ask(): void {
    this.asked++;
  }

  askAgain(): void {
    this.asked++;
  }

  kill(): void {
    this.isKilled = true;
    this.end({ exit: null, signal: "SIGKILL" });
  }

  says(event: Record<string, unknown>): void {
    this.command.onLine?.(JSON.stringify(event));
  }

  end(end: Partial<ChildEnd>): void {
    this.#resolve({ exit: 0, signal: null, lastWords: "", ...end });
  }

  fail(code: string, message: string, exit: number): void {
    this.end({ exit, lastWords: `${JSON.stringify({ error: { code, message } })}\n` });
  }
}

class FakeRun {
  readonly command: HandlerCommand;
  readonly ref: { pid: number; started: string; claim: string };
  readonly finished: Promise<Finished>;
  #resolve: (end: Finished) => void = () => {};

  constructor(command: HandlerCommand, tree: { pid: number; started: string }) {
    this.command = command;
    this.ref = { ...tree, claim: command.claim };
    this.finished = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  end(end: Partial<Finished>): void {
    const well = { cause: "exit" as const, exit: 0, signal: null, durationMs: 5 };
    this.#resolve({ ...well, tail: "", dropped: 0, survivors: [], ...end });
  }

  async stop(why: string): Promise<Finished> {
    this.end({ cause: "stopped", why, exit: null, signal: "SIGTERM" });
    return this.finished;
  }

  note(): void {}
}

class FakeUpFiles implements UpFiles {
  isTaken = false;
  isFull = false;
  readonly written = new Map<string, ServiceState | AgentState>();

  async takeTurn(): Promise<null> {
    return null;
  }

  async take(): Promise<boolean> {
    return !this.isTaken;
  }

  service(): ServiceState | null {
    return (this.written.get("service") as ServiceState | undefined) ?? null;
  }

  agent(name: string): AgentState | null {
    return (this.written.get(name) as AgentState | undefined) ?? null;
  }

  write(state: ServiceState | AgentState): void {
    if (this.isFull) throw new Error("the disk is full");
    this.written.set(state.name, structuredClone(state));
  }

  names(): string[] {
    return [...this.written.keys()].filter((name) => name !== "service");
  }

  remove(name: string): void {
    this.written.delete(name);
  }

  readonly logPath = "/dev/null";
  readonly startLogPath = "/dev/null";
  openLog(): RotatingLog {
    return new RotatingLog(this.logPath, 0);
  }

  logOf(name: string): string {
    return `/logs/${name}.log`;
  }
}
