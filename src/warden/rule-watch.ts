import type { Machine } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { Store } from "../queue/store.ts";
import {
  compareFindings,
  type Finding,
  findingKey,
  findSuspects,
  type Moment,
  type Observation,
} from "./findings.ts";
import { AgentObserver, type ObserverHost, WorkerObserver } from "./observers.ts";
import { type Lookup, resolveTarget } from "./resolve.ts";
import type { WardenFiles } from "./warden-files.ts";
import type { RuleEvent, RulesSettings } from "./warden-host.ts";
import { oneLine, type TargetKind, targetKey, type Warrant } from "./warrant.ts";

/** A tmux session, and when something last came onto one of its screens. */
export interface SessionActivity {
  name: string;
  activeAt: number;
}

/** `openRun`: for reading only. */
export interface RulesHost extends ObserverHost, Lookup {
  machine: Machine;
  timers: Timers;
  files: Pick<WardenFiles, "file" | "dances" | "queued" | "receipts" | "recordFinding">;
  /** Throws when tmux does not answer. None when there is no server. */
  sessionsOn(socket: string | null): Promise<SessionActivity[]>;
  newId(): string;
}

interface PassReport {
  seen: number;
  found: number;
  fresh: number;
  ceased: number;
  filed: number;
  /** Sources that could not be read. */
  failed: number;
}

const EVERY_MS = 10_000;
/** Passes that lie further apart: the machine slept, or its clock was set. */
const LATE_MS = 30_000;
/** A pardoned suspect gets no new warrant for so long. */
const GRACE_MS = 3_600_000;

/** Looks for suspects by the rules, every ten seconds; reports them, or files warrants. */
export class RuleWatch {
  readonly #settings: RulesSettings;
  readonly #host: RulesHost;
  readonly #emit: (event: RuleEvent) => void;
  readonly #runs = new Map<string, { store: Store; observer: WorkerObserver }>();
  readonly #crews = new Map<string, AgentObserver>();
  readonly #reported = new Map<string, Finding>();
  readonly #errors = new Map<string, string>();
  #lastPass: number | null = null;
  #notBefore: number | undefined;
  #cancel: (() => void) | undefined;
  #pass: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  constructor(settings: RulesSettings, host: RulesHost, emit: (event: RuleEvent) => void) {
    this.#settings = settings;
    this.#host = host;
    this.#emit = emit;
  }

  /** The first pass is now; none without rules. */
  start(): void {
    if (Object.keys(this.#settings.rules).length === 0) return;
    const next = (ms: number) => {
      if (this.#isStopped) return;
      this.#cancel = this.#host.timers.after(ms, () => {
        this.#pass = this.runOnce()
          .catch((error) => this.#warn("rules", error))
          .finally(() => next(EVERY_MS));
      });
    };
    next(0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#pass;
    for (const { store } of this.#runs.values()) await store.close();
    this.#runs.clear();
  }

  async runOnce(): Promise<PassReport> {
    const moment = this.#moment();
    const unseen = new Set<string>();
    const observations = await this.#observe(moment.now, unseen);
    const found = findSuspects(this.#settings.rules, observations, moment);
    const { fresh, ceased } = compareFindings(found, this.#reported);
    for (const one of fresh) {
      this.#reported.set(findingKey(one), one);
      if (one.action === "observe") this.#report(one, moment.now);
    }
    // A finding whose source could not be read now may not have ceased.
    const over = ceased.filter((key) => {
      const { kind, home } = this.#reported.get(key) as Finding;
      return !unseen.has(sourceOf(kind, home));
    });
    for (const key of over) this.#cease(key, moment.now);
    const filed = await this.#fileAll(found, moment.now);
    return {
      ...{ seen: observations.length, found: found.length, fresh: fresh.length },
      ...{ ceased: over.length, filed, failed: unseen.size },
    };
  }

  #moment(): Moment {
    const now = this.#host.machine.clock.now();
    const gap = this.#lastPass === null ? 0 : now - this.#lastPass;
    if (gap < 0 || gap > EVERY_MS + LATE_MS) this.#notBefore = now;
    this.#lastPass = now;
    return { now, notBefore: this.#notBefore };
  }

  async #observe(now: number, unseen: Set<string>): Promise<Observation[]> {
    const all: Observation[] = [];
    const from = async (source: string, look: () => Promise<Observation[]>) => {
      try {
        all.push(...(await look()));
        this.#errors.delete(source);
      } catch (error) {
        unseen.add(source);
        this.#warn(source, error);
      }
    };
    const { runs, crews, sessions, socket } = this.#settings;
    for (const run of runs) await from(sourceOf("worker", run), () => this.#observeRun(run, now));
    for (const crew of crews) {
      await from(sourceOf("agent", crew), async () => this.#observeCrew(crew));
    }
    if (sessions.length > 0) await from(sourceOf("tmux", socket), () => this.#observeSessions());
    return all;
  }

  async #observeRun(run: string, now: number): Promise<Observation[]> {
    let known = this.#runs.get(run);
    if (known === undefined) {
      const store = await this.#host.openRun(run);
      known = { store, observer: new WorkerObserver(store, this.#host, this.#settings.rules) };
      this.#runs.set(run, known);
    }
    const seen = await known.observer.observe(now);
    return seen.map((one) => ({ ...one, home: run }));
  }

  #observeCrew(state: string): Observation[] {
    let known = this.#crews.get(state);
    if (known === undefined) {
      const home = this.#host.directory.crew(state);
      known = new AgentObserver(home, this.#host, this.#settings.rules);
      this.#crews.set(state, known);
    }
    return known.observe();
  }

  async #observeSessions(): Promise<Observation[]> {
    const { sessions, socket } = this.#settings;
    const patterns = sessions.map(patternFor);
    const all = await this.#host.sessionsOn(socket);
    return all
      .filter(({ name }) => patterns.some((pattern) => pattern.test(name)))
      .map(({ name, activeAt }) => ({
        ...{ kind: "tmux" as const, name, home: socket, isAlive: true, isBusy: true },
        output: { at: activeAt, where: `in tmux session ${name}` },
      }));
  }

  #report(one: Finding, now: number, warrant?: string): void {
    const { rule, kind: of, name: target, home, evidence } = one;
    const line = { at: iso(now), state: "found", rule, kind: of, target, home, evidence };
    this.#host.files.recordFinding(warrant === undefined ? line : { ...line, warrant });
    if (warrant === undefined) this.#emit({ kind: "observed", rule, target, of, evidence });
    else this.#emit({ kind: "filed", rule, target, of, evidence, warrant });
  }

  #cease(key: string, now: number): void {
    const { rule, kind: of, name: target, home } = this.#reported.get(key) as Finding;
    this.#reported.delete(key);
    this.#host.files.recordFinding({ at: iso(now), state: "ceased", rule, kind: of, target, home });
    this.#emit({ kind: "ceased", rule, target, of });
  }

  async #fileAll(found: readonly Finding[], now: number): Promise<number> {
    const toFile = found.filter(({ action }) => action === "file");
    if (toFile.length === 0) return 0;
    const { files } = this.#host;
    const dancing = files.dances().map(({ warrant }) => warrant);
    const busy = new Set([...dancing, ...files.queued().warrants].map(targetKey));
    for (const { verdict, warrant } of files.receipts(now - this.#graceMs())) {
      if (verdict === "pardoned" || verdict === "failed") busy.add(targetKey(warrant));
    }
    let filed = 0;
    for (const one of toFile) {
      const warrant = this.#warrantFor(one, now);
      if (busy.has(targetKey(warrant))) continue;
      busy.add(targetKey(warrant));
      const whole = await this.#bound(warrant);
      if (whole === null) continue;
      const { filed: isNew, id } = await files.file(whole);
      if (!isNew) continue;
      filed++;
      this.#report(one, now, id);
    }
    return filed;
  }

  /** Also no sooner than the longest rule would find it again. */
  #graceMs(): number {
    const { no_output, stale_heartbeat, past_deadline } = this.#settings.rules;
    const times = [no_output, stale_heartbeat, past_deadline].map((rule) => rule?.afterMs ?? 0);
    return Math.max(GRACE_MS, ...times);
  }

  #warrantFor({ rule, kind, name, home, evidence }: Finding, now: number): Warrant {
    const patience_ms = this.#settings.rules[rule]?.patienceMs;
    return {
      patience_ms,
      ...{ id: this.#host.newId(), target: name, kind, reason: oneLine(`${rule}: ${evidence}`) },
      ...{ requester: `warden:${rule}`, filed_at: iso(now), bound: null, watch: [], shell: false },
      socket: kind === "tmux" ? home : null,
      home: kind === "tmux" ? null : home,
    };
  }

  /** Null when it is gone by now, or cannot be identified. */
  async #bound(warrant: Warrant): Promise<Warrant | null> {
    if (warrant.kind === "tmux") return warrant;
    const found = await resolveTarget(this.#host, warrant.kind, warrant.target, warrant.home);
    if (found.is !== "there") return null;
    return { ...warrant, bound: found.bound, watch: found.watch };
  }

  /** Once, until the message changes. */
  #warn(source: string, error: unknown): void {
    const message = messageOf(error);
    if (this.#errors.get(source) === message) return;
    this.#errors.set(source, message);
    this.#emit({ kind: "trouble", message });
  }
}

function sourceOf(kind: TargetKind, home: string | null): string {
  return `${kind} ${home ?? ""}`;
}

/** `agent-*`: any text stands for the star, and all else for itself. */
export function patternFor(text: string): RegExp {
  const parts = text.split("*").map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
