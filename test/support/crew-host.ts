import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Crew, type CrewHost, type CrewOptions } from "../../src/crew/crew.ts";
import { type CrewFiles, crewFilesIn } from "../../src/crew/crew-files.ts";
import type { CrewEvent, RunEnd, RunHooks, Runner } from "../../src/crew/crew-ports.ts";
import { type Member, parseManifest } from "../../src/crew/manifest.ts";
import type { MemberStatus } from "../../src/crew/member-status.ts";
import { prepare } from "../../src/crew/prompt.ts";
import { type Gate, gateInMemory } from "../../src/gate/gate.ts";
import { newFolder } from "./folders.ts";
import { FakeHost } from "./machine.ts";
import { settled } from "./up-host.ts";

/** In the morning, so that the hours of a test are of one day whenever it runs. */
function atSix(world: FakeHost): FakeHost {
  const HOUR = 3_600_000;
  world.jumpWall(6 * HOUR - (world.clock.now() % (24 * HOUR)));
  return world;
}

/** A crew on a machine where nothing happens by itself: tests end runs and move the time. */
export class FakeCrew {
  readonly world = atSix(new FakeHost());
  /** The texts of all files that people write, by their path. Folders are not looked at. */
  readonly texts = new Map<string, string>();
  readonly runs: FakeRun[] = [];
  /** RUN-IFs that ran, in order; `due` is their answer. */
  readonly asked: string[] = [];
  due: (name: string) => boolean | Promise<boolean> = () => true;
  held: (name: string, costToday: number) => { note: string; until: number | null } | null = () =>
    null;
  readonly events: CrewEvent[] = [];
  readonly state = newFolder("viv-crew-");
  readonly files: CrewFiles = breakable(crewFilesIn(this.state), this);
  /** What fails as if the disk were full; undefined: nothing. */
  broken: ((method: keyof CrewFiles, name: unknown) => boolean) | undefined;
  /** Trees that a new supervisor has ended. */
  readonly ended: string[] = [];
  isTaken = false;
  /** The state folder was removed. */
  isRemoved = false;
  crew!: Crew;
  gate: Gate | null = null;
  #timers: { at: number; act: () => void }[] = [];
  #stamps = new Map<string, { text: string | undefined; count: number }>();

  /** Starts anew, as a new process would; nothing of the old one is stopped. */
  up(manifest: string, options: Partial<CrewOptions> & { max?: number } = {}): this {
    const crew = this.make(manifest, options);
    crew.own(this.#taken());
    void crew.begin();
    return this;
  }

  make(manifest: string, options: Partial<CrewOptions> & { max?: number } = {}): Crew {
    this.texts.set("/news/crew.org", manifest);
    this.#timers = [];
    const { max = 2, ...more } = options;
    const settings: CrewOptions = {
      ...{ manifest: "/news/crew.org", isSingleton: false, graceMs: 60_000, staggerMs: 30_000 },
      ...more,
    };
    this.gate = settings.isSingleton ? null : gateInMemory({ max, clock: this.world.clock });
    this.crew = new Crew(settings, this.#host(settings));
    return this.crew;
  }

  emitted<K extends CrewEvent["kind"]>(kind: K): (CrewEvent & { kind: K })[] {
    return this.events.filter((event): event is CrewEvent & { kind: K } => event.kind === kind);
  }

  status(name: string): MemberStatus {
    const status = this.files.status(name);
    if (status === null) throw new Error(`${name} has no status`);
    return status;
  }

  /** The latest run of that member. */
  run(name: string): FakeRun {
    const found = this.runs.findLast((run) => run.name === name);
    if (!found) throw new Error(`${name} never ran`);
    return found;
  }

  countOf(name: string): number {
    return this.runs.filter((run) => run.name === name).length;
  }

  /** The members that run now, in the order in which they began. */
  get running(): string[] {
    return this.runs.filter(({ isOver }) => !isOver).map(({ name }) => name);
  }

  /** Time passes, and what is due happens in its order. */
  async pass(ms: number): Promise<void> {
    const uptime = () => Math.round(this.world.clock.uptime() * 1000);
    const end = uptime() + ms;
    for (;;) {
      await settled();
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.world.advance(Math.max(0, next.at - uptime()));
      next.act();
    }
    this.world.advance(Math.max(0, end - uptime()));
    await settled();
  }

  get pending(): number {
    return this.#timers.length;
  }

  /** Something is asked of the crew, as a command would; the answer once it has looked. */
  async ask(request: object): Promise<Record<string, unknown>> {
    const id = `ask-${this.events.length}-${this.#timers.length}`;
    this.files.leaveRequest(id, request);
    await this.pass(1_000);
    return this.files.takeAnswer(id) as Record<string, unknown>;
  }

  raw(file: string): string {
    return readFileSync(join(this.state, file), "utf8");
  }

  #host(settings: CrewOptions): CrewHost {
    const machine = this.world.process();
    return {
      machine,
      timers: {
        after: (ms, act) => {
          const timer = { at: Math.round(this.world.clock.uptime() * 1000) + ms, act };
          this.#timers.push(timer);
          return () => {
            this.#timers = this.#timers.filter((one) => one !== timer);
          };
        },
      },
      ...{ files: this.files, gate: this.gate, runner: this.#runner() },
      emit: (event) => this.events.push(event),
      take: async () => this.#taken(),
      stampOf: (files) => files.map((file) => this.#stampOf(pathOf(file))).join(" "),
      readManifest: () => {
        if (settings.isSingleton) return { members: [SINGLETON], log: [] };
        return parseManifest(this.#read("/news/crew.org"), { file: "crew.org", format: "org" });
      },
      watch: () => () => {},
      endLeftover: async ({ claim }) => {
        this.ended.push(claim);
        return [];
      },
    };
  }

  #taken(): (() => boolean) | null {
    return this.isTaken ? null : () => !this.isRemoved;
  }

  #runner(): Runner {
    const keyOf = ({ name }: Member) => (this.gate === null ? "" : name);
    return {
      prepare: (member) =>
        prepare(
          {
            folder: "/news",
            readText: (path) => this.#read(path),
            position: (one) => this.files.position(keyOf(one)),
            recent: () => "what it did",
          },
          member,
        ),
      isDue: async ({ name }) => {
        this.asked.push(name);
        return { due: await this.due(name), note: "nothing new" };
      },
      heldBy: ({ name }, costToday) => this.held(name, costToday),
      run: ({ member }, hooks) => {
        const run = new FakeRun(member, hooks, this.files.lastRun(keyOf(member)));
        this.runs.push(run);
        return run.finished;
      },
    };
  }

  #read(path: string): string {
    const text = this.texts.get(path);
    if (text !== undefined) return text;
    throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT" });
  }

  #stampOf(path: string): string {
    const text = this.texts.get(path);
    const known = this.#stamps.get(path);
    if (known?.text === text && known !== undefined) return String(known.count);
    this.#stamps.set(path, { text, count: (known?.count ?? 0) + 1 });
    return this.#stampOf(path);
  }
}

const pathOf = (file: string) => (file.startsWith("/") ? file : `/news/${file}`);

export const SINGLETON: Member = {
  ...{ name: "desk", index: 0, def: "/news/desk.org", lifecycle: null, intervalMs: 3_600_000 },
  ...{ engine: "claude", model: null, command: null, mode: "plan", workdir: null, runIf: null },
  isModeGiven: false,
  ...{ budgetUsdDay: null, priority: "normal", isContinuous: false, problem: null, line: 1 },
};

class FakeRun {
  readonly name: string;
  readonly member: Member;
  readonly hooks: RunHooks;
  /** What keeper-last-run said when the engine was started. */
  readonly lastRun: string | null;
  readonly finished: Promise<RunEnd>;
  isOver = false;
  #resolve: (end: RunEnd) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(member: Member, hooks: RunHooks, lastRun: string | null) {
    this.name = member.name;
    this.member = member;
    this.hooks = hooks;
    this.lastRun = lastRun;
    this.finished = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    hooks.signal.addEventListener("abort", () => void this.end("killed", "stopped by hand"));
  }

  async end(outcome: Extract<RunEnd, { kind: "ended" }>["outcome"], note = "", usd?: number) {
    this.isOver = true;
    this.#resolve({ kind: "ended", outcome, note, usd: usd ?? null });
    await settled();
  }

  async hold(note: string, until: number | null, usd?: number) {
    this.isOver = true;
    this.#resolve({ kind: "held", note, until, usd: usd ?? null });
    await settled();
  }

  async throw(error: unknown) {
    this.isOver = true;
    this.#reject(error);
    await settled();
  }
}

/** Real files, of which any may fail. */
function breakable(files: CrewFiles, fake: FakeCrew): CrewFiles {
  return new Proxy(files, {
    get(target, method: keyof CrewFiles) {
      const value = target[method];
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (method !== "isPaused" && fake.broken?.(method, args[0])) {
          throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
        }
        return (value as (...args: unknown[]) => unknown)(...args);
      };
    },
  });
}
