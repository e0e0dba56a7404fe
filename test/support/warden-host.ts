import { VivError } from "../../src/base/errors.ts";
import type { Dance, HeldNotice, Receipt, SeenProcess } from "../../src/warden/dance.ts";
import type { Ended, Look, Suspect, Suspects } from "../../src/warden/suspects/suspect.ts";
import { Warden } from "../../src/warden/warden.ts";
import { type WardenFiles, wardenFilesIn } from "../../src/warden/warden-files.ts";
import type { WardenEvent, WardenSettings } from "../../src/warden/warden-host.ts";
import type { BoundSession, Warrant } from "../../src/warden/warrant.ts";
import { newFolder } from "./folders.ts";
import { FakeHost } from "./machine.ts";
import { settled } from "./up-host.ts";

export const SETTINGS: WardenSettings = {
  pool: 5,
  timeoutsMs: [60_000, 120_000, 240_000],
  killAfterMs: 10_000,
  breaker: { executions: 100, withinMs: 600_000 },
  unasked: "spare",
  patienceMs: 1_800_000,
};

/** How a suspect behaves; times are from the question of that attempt. */
export interface Behaviour {
  answers?: { attempt: number; afterMs: number };
  /** Says something new each time. */
  worksEveryMs?: number;
  diesAfterMs?: number;
  cannotBeTold?: string;
  /** Then: because another has its name. */
  isReplaced?: boolean;
  refuses?: string;
  /** It shows a dialog, from this time on. */
  asksPersonAfterMs?: number;
  /** Its agent has ended, and left a shell. */
  isLeft?: boolean;
  /** Its program holds questions back for so long. */
  busyForMs?: number;
  /** Its children use CPU. */
  childrenWork?: boolean;
  says?: { afterMs: number; line: string };
  survives?: boolean;
  /** Called before each look, with the time since it was made. */
  onLook?: (ms: number) => void;
  /** The question cannot be written. */
  isFull?: boolean;
  /** With `viv alive`: all that it was asked. */
  answersBeside?: boolean;
}

/** A warden on a machine where time only moves when a test moves it, and which can be killed at any write. */
export class FakeWarden {
  readonly world = new FakeHost();
  readonly folder = newFolder("viv-warden-");
  /** Until this resolves, another has the lock of the files. */
  lock: Promise<void> | null = null;
  /** Without faults. One process, and time that is not real: no lock is needed. */
  readonly files = wardenFilesIn(this.folder, async (_, critical) => {
    if (this.lock !== null) await this.lock;
    return critical();
  });
  readonly targets = new Map<string, FakeTarget>();
  readonly events: WardenEvent[] = [];
  readonly told: Receipt[] = [];
  readonly notices: HeldNotice[] = [];
  /** Until this resolves, no requester is notified. */
  hook: Promise<void> = Promise.resolve();
  /** What was to be ended of targets that are gone. */
  readonly left: SeenProcess[] = [];
  /** Counts what is written or done to the world; at one of these it is killed. */
  steps = 0;
  killAt: number | "signal" | null = null;
  isFull = false;
  isOurs = true;
  settings: WardenSettings = SETTINGS;
  warden: Warden | null = null;
  running: Promise<void> | null = null;
  #life = 0;
  #timers: { at: number; act: () => void; life: number }[] = [];
  #nonces = 0;

  target(name: string, behaviour: Behaviour = {}): FakeTarget {
    const target = new FakeTarget(name, behaviour, this);
    this.targets.set(name, target);
    return target;
  }

  file(name: string, id = `w-${name}`): void {
    const now = this.world.clock.now();
    const warrant: Warrant = {
      ...{ id, target: name, reason: "no_progress", requester: "deacon", kind: "tmux" },
      ...{ bound: null, watch: [], shell: false, socket: null, home: null },
      filed_at: new Date(now).toISOString(),
    };
    void this.files.file(warrant);
  }

  /** A new process; what the old one had under way goes nowhere. */
  async up(): Promise<void> {
    const life = ++this.#life;
    this.#timers = [];
    const host = {
      machine: this.world.process(),
      timers: { after: (ms: number, act: () => void) => this.#after(ms, act, life) },
      files: this.#filesOf(life),
      suspects: this.#suspectsOf(life),
      newNonce: () => `n${++this.#nonces}x`,
      notify: async (notice: Receipt | HeldNotice) => {
        await this.hook;
        this.step(life, () =>
          "verdict" in notice ? this.told.push(notice) : this.notices.push(notice),
        );
        return [{ by: "inbox" as const, trouble: null }];
      },
      reap: async () => [],
    };
    this.warden = new Warden(this.settings, host, (event) => this.events.push(event));
    this.running = this.warden.run().catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
    });
    await settled();
  }

  get isDead(): boolean {
    return this.#life < 0;
  }

  /** kill -9. */
  die(): void {
    this.#life = -Math.abs(this.#life) - 1;
    this.#timers = [];
  }

  /** Brings it back after it was killed. */
  async back(): Promise<void> {
    this.#life = Math.abs(this.#life);
    await this.up();
  }

  /** Time passes, timer by timer. */
  async pass(ms: number): Promise<void> {
    const end = this.world.clock.uptime() * 1000 + ms;
    for (;;) {
      await settled();
      const now = this.world.clock.uptime() * 1000;
      const next = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      const change = Math.min(...[...this.targets.values()].map((one) => one.nextChange(now)));
      const at = Math.min(next?.at ?? Number.POSITIVE_INFINITY, change);
      if (at > end) {
        this.world.advance(end - now);
        return settled();
      }
      this.world.advance(Math.max(0, at - now));
      for (const target of this.targets.values()) target.change(at);
      if (next && next.at <= at) {
        this.#timers.splice(this.#timers.indexOf(next), 1);
        next.act();
      }
    }
  }

  emitted(kind: WardenEvent["kind"]): WardenEvent[] {
    return this.events.filter((event) => event.kind === kind);
  }

  verdict(name: string): string | null {
    return this.files.receipts().find(({ warrant }) => warrant.target === name)?.verdict ?? null;
  }

  /** A write, or something done to the world: a place where it can be killed. */
  step<T>(life: number, act: () => T): T {
    if (life !== this.#life) throw new Killed();
    if (this.killAt !== null && ++this.steps === this.killAt) {
      this.die();
      throw new Killed();
    }
    return act();
  }

  isAlive(life: number): boolean {
    return life === this.#life;
  }

  #after(ms: number, act: () => void, life: number): () => void {
    const timer = { at: this.world.clock.uptime() * 1000 + ms, act, life };
    if (this.isAlive(life)) this.#timers.push(timer);
    return () => {
      const at = this.#timers.indexOf(timer);
      if (at >= 0) this.#timers.splice(at, 1);
    };
  }

  #filesOf(life: number): WardenFiles {
    const overrides: Partial<WardenFiles> = {
      take: async () => () => this.isOurs,
      watch: () => () => {},
    };
    return new Proxy(this.files, {
      get: (files, key: keyof WardenFiles) => {
        const value = overrides[key] ?? files[key];
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (this.isFull && WRITES.has(key)) {
            const error = new Error("the disk is full");
            throw Object.assign(error, { name: "VivError", code: "DISK_FULL" });
          }
          const call = () => (value as (...args: unknown[]) => unknown)(...args);
          if (!WRITES.has(key)) return this.isAlive(life) ? call() : killed();
          if (key === "begin") return this.#begin(life, args[0] as Dance);
          // Before it is written, and after.
          const result = this.step(life, call);
          const after = (written: unknown) => this.step(life, () => written);
          return result instanceof Promise ? result.then(after) : after(result);
        };
      },
    });
  }

  /** Between its two steps, too. */
  #begin(life: number, dance: Dance): boolean {
    const isWaiting = this.files.queued().warrants.some(({ id }) => id === dance.warrant.id);
    if (!isWaiting) return false;
    this.step(life, () => this.files.save(dance));
    this.step(life, () => this.files.dropQueued(dance.warrant.id));
    this.step(life, () => undefined);
    return true;
  }

  #suspectsOf(life: number): Suspects {
    return {
      find: async (warrant) => {
        const target = this.targets.get(warrant.target);
        if (!target || target.isGone) return { is: "gone", why: "no such session" };
        const { cannotBeTold: why, isReplaced = false } = target.behaviour;
        if (why) return { is: "unknown", why, isReplaced };
        return { is: "there", suspect: target.suspect(life) };
      },
      endLeft: async (left) => {
        this.left.push(...left);
        const target = [...this.targets.values()].find((one) => one.tree[0]?.pid === left[0]?.pid);
        return target ? target.end(life) : { exit: [], survivors: [] };
      },
    };
  }
}

class Killed extends Error {}

function killed(): never {
  throw new Killed();
}

const WRITES = new Set<keyof WardenFiles>([
  "begin",
  "save",
  "saveForExecution",
  "giveBack",
  "remove",
  "writeReceipt",
  "writeEpitaph",
  "markDone",
  "markUntold",
  "forgetUntold",
  "dropQueued",
  "reject",
  "pause",
]);

/** A session, its screen and its processes, as they are whatever becomes of the warden. */
export class FakeTarget {
  readonly typed: { nonce: string; attempt: number; at: number }[] = [];
  readonly signalled: number[] = [];
  readonly tree: SeenProcess[];
  readonly bound: BoundSession;
  readonly behaviour: Behaviour;
  readonly #name: string;
  readonly #fake: FakeWarden;
  readonly #screen: string[] = ["$ agent", "ALIVE", "thinking"];
  readonly #born: number;
  isGone = false;
  isAnswered = false;
  #hasSaid = false;
  #lines = 0;
  #watchers: { life: number; act: () => void }[] = [];

  constructor(name: string, behaviour: Behaviour, fake: FakeWarden) {
    this.#name = name;
    this.behaviour = behaviour;
    this.#fake = fake;
    const pid = 5000 + fake.targets.size;
    this.#born = fake.world.clock.uptime() * 1000;
    this.tree = [{ pid, started: "1", parent: 1, command: name }];
    this.bound = {
      ...{ is: "session", socket: "/tmp/s", server: { pid: 1, started: "1" } },
      ...{ session: `$${pid}`, created: 0 },
    };
  }

  #ageMs(): number {
    return this.#fake.world.clock.uptime() * 1000 - this.#born;
  }

  #asksPerson(): boolean {
    return this.#ageMs() >= (this.behaviour.asksPersonAfterMs ?? Number.POSITIVE_INFINITY);
  }

  #child() {
    const cpu_ms = this.#ageMs() / 10;
    return { pid: 1, started: "1", command: "make", age_ms: this.#ageMs(), cpu_ms, io: 0 };
  }

  /** When it does something by itself. */
  nextChange(now: number): number {
    return Math.min(...this.#changes().filter((at) => at > now), Number.POSITIVE_INFINITY);
  }

  #changes(): number[] {
    const { answers, worksEveryMs, diesAfterMs } = this.behaviour;
    if (this.isGone) return [];
    const asked = this.typed.find(({ attempt }) => attempt === answers?.attempt);
    const { says } = this.behaviour;
    const first = this.typed[0];
    const works = worksEveryMs ? [this.#born + (this.#lines + 1) * worksEveryMs] : [];
    return [
      ...(answers && asked && !this.isAnswered ? [asked.at + answers.afterMs] : []),
      ...(diesAfterMs === undefined ? [] : [this.#born + diesAfterMs]),
      ...(says && first && !this.#hasSaid ? [first.at + says.afterMs] : []),
      ...works,
    ];
  }

  change(now: number): void {
    const { answers, worksEveryMs, diesAfterMs } = this.behaviour;
    if (this.isGone) return;
    const asked = this.typed.find(({ attempt }) => attempt === answers?.attempt);
    if (diesAfterMs !== undefined && now >= this.#born + diesAfterMs) this.isGone = true;
    if (answers && asked && !this.isAnswered && now >= asked.at + answers.afterMs) {
      this.isAnswered = true;
      this.#say(`ALIVE ${asked.nonce}`);
    }
    const { says } = this.behaviour;
    const first = this.typed[0];
    if (says && first && !this.#hasSaid && now >= first.at + says.afterMs) {
      this.#hasSaid = true;
      this.#say(says.line);
    }
    if (worksEveryMs && now >= this.#born + (this.#lines + 1) * worksEveryMs) {
      this.#lines = Math.floor((now - this.#born) / worksEveryMs);
      this.#say(`step number ${this.#lines}`);
    }
  }

  /** Lines that appear on its screen by themselves. */
  show(...lines: string[]): void {
    this.#screen.push(...lines);
  }

  #say(line: string): void {
    this.#screen.push(line);
    for (const { life, act } of this.#watchers) if (this.#fake.isAlive(life)) act();
  }

  suspect(life: number): Suspect {
    const { behaviour } = this;
    const gone = { is: "gone", why: "it has ended" } as const;
    return {
      bound: this.bound,
      look: async (): Promise<Look> => {
        if (this.isGone) return gone;
        behaviour.onLook?.(this.#fake.world.clock.uptime() * 1000 - this.#born);
        const answers = behaviour.answersBeside ? this.typed.map(({ nonce }) => nonce) : [];
        const isBusy = this.#ageMs() < (behaviour.busyForMs ?? 0);
        return {
          ...{ is: "there", screen: [...this.#screen], files: {}, answers },
          ...(this.#asksPerson() ? { person: "asks for permission" } : {}),
          ...(isBusy ? { isQueued: true } : {}),
        };
      },
      work: async () => ({
        processes: behaviour.childrenWork ? [this.#child()] : [],
        changed: null,
      }),
      closeShell: async () => {
        this.isGone = true;
        return true;
      },
      ask: async ({ nonce, lines, typed }) => {
        if (behaviour.isFull) throw new VivError("DISK_FULL", "the disk is full");
        if (this.isGone) return gone;
        if (behaviour.refuses) return { is: "refused", why: behaviour.refuses };
        if (behaviour.isLeft) return { is: "left", why: "nothing but bash is left there" };
        if (this.#asksPerson()) return { is: "waits", why: "asks for permission" };
        if (!this.typed.some((one) => one.nonce === nonce)) {
          this.#fake.step(life, () => {
            const attempt = Number(/Attempt: (\d)/.exec(lines.join("\n"))?.[1]);
            this.typed.push({ nonce, attempt, at: this.#fake.world.clock.uptime() * 1000 });
            this.#screen.push(typed);
          });
        }
        return { is: "asked", channel: "pane %1", arrived: true, submitted: true };
      },
      watch: (act) => void this.#watchers.push({ life, act }),
      tree: () => this.tree,
      end: () => this.end(life),
      close: () => {
        this.#watchers = this.#watchers.filter((one) => one.life !== life);
      },
    };
  }

  async end(life: number): Promise<Ended> {
    const wasGone = this.isGone;
    if (!wasGone) {
      this.#fake.step(life, () => {
        if (this.isAnswered) throw new Error(`${this.#name} had answered, and was killed`);
        this.signalled.push(this.#fake.world.clock.uptime() * 1000);
        this.isGone = this.behaviour.survives !== true;
      });
      if (this.#fake.killAt === "signal") this.#fake.die();
      this.#fake.step(life, () => undefined);
    }
    const signal = wasGone ? "none" : "SIGTERM";
    const at = new Date(this.#fake.world.clock.now()).toISOString();
    return {
      exit: this.tree.map((one) => ({ ...one, signal, gone_at: this.isGone ? at : null })),
      survivors: this.isGone ? [] : this.tree.map(({ pid }) => pid),
    };
  }
}
