import type { Machine } from "../base/clock.ts";
import type { CrewFiles } from "../crew/files.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { Store } from "../queue/store.ts";
import type { Receipt } from "./dance.ts";
import type { Resolved } from "./resolve.ts";
import type { RuleName, Rules } from "./rule.ts";
import { CrewSight } from "./see-crew.ts";
import { RunSight, type RunSource } from "./see-runs.ts";
import {
  compareFindings,
  type Finding,
  findingKey,
  type Moment,
  type Sighting,
  suspectsAmong,
} from "./suspicion.ts";
import { oneLine, type TargetKind, targetKey, type Warrant } from "./warrant.ts";

/** Who files warrants by itself: looks at runs, crews and sessions, and says which are suspects. */
export interface RulesSettings {
  rules: Rules;
  /** Absolute. */
  runs: readonly string[];
  crews: readonly string[];
  /** Names of tmux sessions, with `*`. */
  sessions: readonly string[];
  /** Of the tmux server; null for the user's own. */
  socket: string | null;
  everyMs?: number;
}

/** A tmux session, and when something last came onto one of its screens. */
export interface SessionActivity {
  name: string;
  activeAt: number;
}

export interface RulesHost {
  machine: Machine;
  timers: Timers;
  writtenAt: RunSource["writtenAt"];
  budgetFor: RunSource["budgetFor"];
  /** For reading only. */
  openRun(path: string): Promise<Store>;
  crewFilesIn(state: string): CrewFiles;
  /** Throws when tmux does not answer. None when there is no server. */
  sessionsOn(socket: string | null): Promise<SessionActivity[]>;
  /** Which process that is now. */
  resolve(kind: TargetKind, name: string, home: string | null): Promise<Resolved | null>;
  /** Files it, unless its target has an open warrant. */
  file(warrant: Warrant): Promise<{ filed: boolean; id: string }>;
  open(): Warrant[];
  receipts(since: number): Receipt[];
  observe(line: Record<string, unknown>): void;
  newId(): string;
}

export type RuleEvent =
  | { kind: "observed"; rule: RuleName; target: string; of: TargetKind; evidence: string }
  | { kind: "ceased"; rule: RuleName; target: string; of: TargetKind }
  | {
      kind: "filed";
      rule: RuleName;
      target: string;
      of: TargetKind;
      evidence: string;
      warrant: string;
    }
  | { kind: "trouble"; message: string };

export interface PassReport {
  seen: number;
  found: number;
  fresh: number;
  ceased: number;
  filed: number;
  troubled: number;
}

const EVERY_MS = 10_000;
/** Looks that lie further apart: the machine slept, or its clock was set. */
const LATE_MS = 30_000;
/** Who was let go is not accused again at once. */
const LET_ALONE_MS = 3_600_000;

export class RuleWatch {
  readonly #settings: RulesSettings;
  readonly #host: RulesHost;
  readonly #tell: (event: RuleEvent) => void;
  readonly #runs = new Map<string, { store: Store; sight: RunSight }>();
  readonly #crews = new Map<string, CrewSight>();
  readonly #told = new Map<string, Finding>();
  readonly #troubles = new Map<string, string>();
  #lastLook: number | null = null;
  #notBefore: number | undefined;
  #cancel: (() => void) | undefined;
  #pass: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  constructor(settings: RulesSettings, host: RulesHost, tell: (event: RuleEvent) => void) {
    this.#settings = settings;
    this.#host = host;
    this.#tell = tell;
  }

  /** Looks now, and again and again. Without rules there is nothing to look for. */
  start(): void {
    if (Object.keys(this.#settings.rules).length === 0) return;
    const next = (ms: number) => {
      if (this.#isStopped) return;
      this.#cancel = this.#host.timers.after(ms, () => {
        this.#pass = this.runOnce()
          .catch((error) => this.#trouble("rules", error))
          .finally(() => next(this.#settings.everyMs ?? EVERY_MS));
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

  /** One pass. */
  async runOnce(): Promise<PassReport> {
    const moment = this.#moment();
    const unseen = new Set<string>();
    const sightings = await this.#look(moment.now, unseen);
    const found = suspectsAmong(this.#settings.rules, sightings, moment);
    const { fresh, ceased } = compareFindings(found, this.#told);
    for (const one of fresh) {
      this.#told.set(findingKey(one), one);
      if (one.action === "observe") this.#observe(one, moment.now);
    }
    // Of what could not be looked at now, nobody knows that it has ceased.
    const over = ceased.filter((key) => {
      const { kind, home } = this.#told.get(key) as Finding;
      return !unseen.has(sourceOf(kind, home));
    });
    for (const key of over) this.#cease(key, moment.now);
    const filed = await this.#fileAll(found, moment.now);
    return {
      ...{ seen: sightings.length, found: found.length, fresh: fresh.length },
      ...{ ceased: over.length, filed, troubled: unseen.size },
    };
  }

  #moment(): Moment {
    const now = this.#host.machine.clock.now();
    const gap = this.#lastLook === null ? 0 : now - this.#lastLook;
    if (gap < 0 || gap > (this.#settings.everyMs ?? EVERY_MS) + LATE_MS) this.#notBefore = now;
    this.#lastLook = now;
    return this.#notBefore === undefined ? { now } : { now, notBefore: this.#notBefore };
  }

  async #look(now: number, unseen: Set<string>): Promise<Sighting[]> {
    const all: Sighting[] = [];
    const from = async (source: string, look: () => Promise<Sighting[]>) => {
      try {
        all.push(...(await look()));
        this.#troubles.delete(source);
      } catch (error) {
        unseen.add(source);
        this.#trouble(source, error);
      }
    };
    const { runs, crews, sessions, socket } = this.#settings;
    for (const run of runs) await from(sourceOf("worker", run), () => this.#lookAtRun(run, now));
    for (const crew of crews) {
      await from(sourceOf("agent", crew), async () => this.#crewAt(crew).look());
    }
    if (sessions.length > 0) await from(sourceOf("tmux", socket), () => this.#lookAtSessions());
    return all;
  }

  async #lookAtRun(run: string, now: number): Promise<Sighting[]> {
    let known = this.#runs.get(run);
    if (known === undefined) {
      const store = await this.#host.openRun(run);
      known = { store, sight: new RunSight(store, this.#host, this.#settings.rules) };
      this.#runs.set(run, known);
    }
    const seen = await known.sight.look(now);
    return seen.map((one) => ({ ...one, home: run }));
  }

  #crewAt(state: string): CrewSight {
    const known = this.#crews.get(state);
    if (known) return known;
    const { machine, crewFilesIn, writtenAt } = this.#host;
    const times = this.#settings.rules.repeated_tool?.times;
    const sight = new CrewSight(crewFilesIn(state), machine, writtenAt, times);
    this.#crews.set(state, sight);
    return sight;
  }

  async #lookAtSessions(): Promise<Sighting[]> {
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

  #observe(one: Finding, now: number, warrant?: string): void {
    const { rule, kind: of, name: target, home, evidence } = one;
    const line = { at: iso(now), state: "found", rule, kind: of, target, home, evidence };
    this.#host.observe(warrant === undefined ? line : { ...line, warrant });
    if (warrant === undefined) this.#tell({ kind: "observed", rule, target, of, evidence });
    else this.#tell({ kind: "filed", rule, target, of, evidence, warrant });
  }

  #cease(key: string, now: number): void {
    const { rule, kind: of, name: target, home } = this.#told.get(key) as Finding;
    this.#told.delete(key);
    this.#host.observe({ at: iso(now), state: "ceased", rule, kind: of, target, home });
    this.#tell({ kind: "ceased", rule, target, of });
  }

  async #fileAll(found: readonly Finding[], now: number): Promise<number> {
    const wanted = found.filter(({ action }) => action === "file");
    if (wanted.length === 0) return 0;
    const busy = new Set(this.#host.open().map(targetKey));
    const receipts = this.#host.receipts(now - this.#letAloneMs());
    const spared = receipts.filter(({ verdict }) => verdict === "pardoned" || verdict === "failed");
    for (const { warrant } of spared) busy.add(targetKey(warrant));
    let filed = 0;
    for (const one of wanted) {
      const warrant = this.#warrantFor(one, now);
      if (busy.has(targetKey(warrant))) continue;
      busy.add(targetKey(warrant));
      const whole = await this.#bound(warrant);
      if (whole === null) continue;
      const { filed: isNew, id } = await this.#host.file(whole);
      if (!isNew) continue;
      filed++;
      this.#observe(one, now, id);
    }
    return filed;
  }

  /** Also no sooner than the longest rule would find it again. */
  #letAloneMs(): number {
    const { no_output, stale_heartbeat, past_deadline } = this.#settings.rules;
    const times = [no_output, stale_heartbeat, past_deadline].map((rule) => rule?.afterMs ?? 0);
    return Math.max(LET_ALONE_MS, ...times);
  }

  #warrantFor({ rule, kind, name, home, evidence }: Finding, now: number): Warrant {
    const patience_ms = this.#settings.rules[rule]?.patienceMs;
    return {
      ...(patience_ms === undefined ? {} : { patience_ms }),
      ...{ id: this.#host.newId(), target: name, kind, reason: oneLine(`${rule}: ${evidence}`) },
      ...{ requester: `warden:${rule}`, filed_at: iso(now), bound: null, watch: [], shell: false },
      socket: kind === "tmux" ? home : null,
      home: kind === "tmux" ? null : home,
    };
  }

  /** Null when it is gone by now, or nobody can tell who it is. */
  async #bound(warrant: Warrant): Promise<Warrant | null> {
    if (warrant.kind === "tmux") return warrant;
    const found = await this.#host.resolve(warrant.kind, warrant.target, warrant.home);
    if (found?.is !== "there") return null;
    return { ...warrant, bound: found.bound, watch: found.watch };
  }

  /** Once, until it is something else. */
  #trouble(source: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (this.#troubles.get(source) === message) return;
    this.#troubles.set(source, message);
    this.#tell({ kind: "trouble", message });
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
