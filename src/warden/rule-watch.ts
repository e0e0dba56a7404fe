import type { Machine } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { Store } from "../queue/store.ts";
import { type Finding, findingKey, findSuspects, type Observation } from "./findings.ts";
import { type ObserverHost, observeAgents, observeWorkers } from "./observers.ts";
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

const EVERY_MS = 10_000;
/** Passes that lie further apart: the machine slept, or its clock was set. */
const LATE_MS = 30_000;
/** A pardoned suspect gets no new warrant for so long. */
const GRACE_MS = 3_600_000;

export type RuleWatch = ReturnType<typeof ruleWatch>;

/** Looks for suspects by the rules, every ten seconds; reports them, or files warrants. */
export function ruleWatch(
  { rules, runs, crews, sessions, tmuxSocket }: RulesSettings,
  host: RulesHost,
  emit: (event: RuleEvent) => void,
) {
  const { files } = host;
  const socket = tmuxSocket ?? null;
  const keyOf = (warrant: Warrant) => targetKey(warrant, tmuxSocket);
  const stores = new Map<string, Store>();
  const workers = new Map<string, ReturnType<typeof observeWorkers>>();
  const agents = new Map<string, ReturnType<typeof observeAgents>>();
  const reported = new Map<string, Finding>();
  const errors = new Map<string, string>();
  let lastPass: number | null = null;
  let notBefore: number | undefined;
  let cancel = () => {};
  let pass: Promise<unknown> = Promise.resolve();
  let isStopped = false;

  const observeRun = async (run: string, now: number) => {
    const store = stores.get(run) ?? (await host.openRun(run));
    stores.set(run, store);
    const observe = workers.get(run) ?? observeWorkers(store, host, rules);
    workers.set(run, observe);
    return (await observe(now)).map((one) => ({ ...one, home: run }));
  };

  const observeCrew = async (state: string) => {
    const observe = agents.get(state) ?? observeAgents(host.directory.crew(state), host, rules);
    agents.set(state, observe);
    return observe();
  };

  const observeSessions = async (): Promise<Observation[]> => {
    const patterns = sessions.map(patternFor);
    const all = await host.sessionsOn(socket);
    return all
      .filter(({ name }) => patterns.some((pattern) => pattern.test(name)))
      .map(({ name, activeAt }) => ({
        ...{ kind: "tmux", name, home: socket, isAlive: true, isBusy: true },
        output: { at: activeAt, where: `in tmux session ${name}` },
      }));
  };

  /** Sources that cannot be read are added to `unseen`. */
  const observeAll = async (now: number, unseen: Set<string>): Promise<Observation[]> => {
    const all: Observation[] = [];
    const from = async (source: string, observe: () => Promise<Observation[]>) => {
      try {
        all.push(...(await observe()));
        errors.delete(source);
      } catch (error) {
        unseen.add(source);
        warn(source, error);
      }
    };
    for (const run of runs) await from(sourceOf("worker", run), () => observeRun(run, now));
    for (const crew of crews) await from(sourceOf("agent", crew), () => observeCrew(crew));
    if (sessions.length > 0) await from(sourceOf("tmux", socket), observeSessions);
    return all;
  };

  const report = (one: Finding, at: string, warrant?: string) => {
    const { rule, kind: of, name: target, home, evidence } = one;
    const line = { at, state: "found", rule, kind: of, target, home, evidence };
    files.recordFinding(warrant === undefined ? line : { ...line, warrant });
    if (warrant === undefined) emit({ kind: "observed", rule, target, of, evidence });
    else emit({ kind: "filed", rule, target, of, evidence, warrant });
  };

  const fileAll = async (found: readonly Finding[], now: number, at: string): Promise<number> => {
    const toFile = found.filter(({ action }) => action === "file");
    if (toFile.length === 0) return 0;
    const dancing = files.dances().map(({ warrant }) => warrant);
    const busy = new Set([...dancing, ...files.queued().warrants].map(keyOf));
    // Also no sooner than the longest rule would find it again.
    const { no_output, stale_heartbeat, past_deadline } = rules;
    const times = [no_output, stale_heartbeat, past_deadline].map((rule) => rule?.afterMs ?? 0);
    for (const { verdict, warrant } of files.receipts(now - Math.max(GRACE_MS, ...times))) {
      if (verdict === "pardoned" || verdict === "failed") busy.add(keyOf(warrant));
    }
    let filed = 0;
    for (const one of toFile) {
      const warrant = warrantFor(one, host.newId(), at, rules[one.rule]?.patienceMs);
      if (busy.has(keyOf(warrant))) continue;
      busy.add(keyOf(warrant));
      const whole = await bound(warrant, host);
      if (whole === null) continue;
      const { filed: isNew, id } = await files.file(whole, tmuxSocket);
      if (!isNew) continue;
      filed++;
      report(one, at, id);
    }
    return filed;
  };

  const runOnce = async () => {
    const now = host.machine.clock.now();
    const at = new Date(now).toISOString();
    const gap = lastPass === null ? 0 : now - lastPass;
    if (gap < 0 || gap > EVERY_MS + LATE_MS) notBefore = now;
    lastPass = now;
    const unseen = new Set<string>();
    const observations = await observeAll(now, unseen);
    const found = findSuspects(rules, observations, { now, notBefore });
    const fresh = found.filter((one) => !reported.has(findingKey(one)));
    for (const one of fresh) {
      reported.set(findingKey(one), one);
      if (one.action === "observe") report(one, at);
    }
    const keys = new Set(found.map(findingKey));
    let ceased = 0;
    for (const [key, { rule, kind: of, name: target, home }] of reported) {
      // A finding whose source could not be read now may not have ceased.
      if (keys.has(key) || unseen.has(sourceOf(of, home))) continue;
      reported.delete(key);
      ceased++;
      files.recordFinding({ at, state: "ceased", rule, kind: of, target, home });
      emit({ kind: "ceased", rule, target, of });
    }
    const filed = await fileAll(found, now, at);
    const [seen, failed] = [observations.length, unseen.size];
    return { seen, found: found.length, fresh: fresh.length, ceased, filed, failed };
  };

  /** Once, until the message changes. */
  const warn = (source: string, error: unknown) => {
    const message = messageOf(error);
    if (errors.get(source) === message) return;
    errors.set(source, message);
    emit({ kind: "trouble", message });
  };

  const passAfter = (ms: number) => {
    if (isStopped) return;
    cancel = host.timers.after(ms, () => {
      pass = runOnce()
        .catch((error) => warn("rules", error))
        .finally(() => passAfter(EVERY_MS));
    });
  };

  return {
    /** The first pass is now; none without rules. */
    start: () => {
      if (Object.keys(rules).length > 0) passAfter(0);
    },
    stop: async () => {
      isStopped = true;
      cancel();
      await pass;
      for (const store of stores.values()) await store.close();
      stores.clear();
    },
    runOnce,
  };
}

function warrantFor(
  { rule, kind, name, home, evidence }: Finding,
  id: string,
  filed_at: string,
  patience_ms: number | undefined,
): Warrant {
  return {
    ...{ id, target: name, kind, reason: oneLine(`${rule}: ${evidence}`), patience_ms },
    ...{ requester: `warden:${rule}`, filed_at, bound: null, watch: [], shell: false },
    socket: kind === "tmux" ? home : null,
    home: kind === "tmux" ? null : home,
  };
}

/** Null when its target is gone by now, or cannot be identified. */
async function bound(warrant: Warrant, lookup: Lookup): Promise<Warrant | null> {
  if (warrant.kind === "tmux") return warrant;
  const found = await resolveTarget(lookup, warrant.kind, warrant.target, warrant.home);
  return found.is === "there" ? { ...warrant, bound: found.bound, watch: found.watch } : null;
}

function sourceOf(kind: TargetKind, home: string | null): string {
  return `${kind} ${home ?? ""}`;
}

/** `agent-*`: any text stands for the star, and all else for itself. */
export function patternFor(text: string): RegExp {
  const parts = text.split("*").map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
