import { resolve } from "node:path";
import { messageOf } from "../../base/errors.ts";
import type { TaskSpec } from "../../queue/spec.ts";
import type { Store } from "../../queue/store.ts";
import type { Schedule } from "./config.ts";
import { type Fires, firesOf, localTime } from "./cron.ts";
import { dueFires } from "./due.ts";
import { fireId, tasksOf } from "./fire-tasks.ts";
import type { ScheduleFiles, ScheduleState } from "./schedule-files.ts";

export interface ScheduleHost {
  store: Pick<Store, "enqueueMany" | "show">;
  files: ScheduleFiles;
  /** Of viv.toml: paths in it are relative to it. */
  folder: string;
  readText(path: string): string;
  now(): number;
}

export type ScheduleEvent =
  | { kind: "fired"; name: string; fire: string; tasks: number; created: number }
  | { kind: "skipped"; name: string; fire?: string; why: string }
  /** The first of a row of tries that fail for one reason. */
  | { kind: "failed"; name: string; fire: string; why: string }
  | { kind: "trouble"; name: string; message: string };

/** One pass over a schedule: all that is due is enqueued or skipped. Throws what a fire failed with. */
export async function passOver(
  schedule: Schedule,
  host: ScheduleHost,
  emit: (event: ScheduleEvent) => void,
  fires: Fires = firesOf(schedule.cron, schedule.timezone),
): Promise<void> {
  const { name, missed, enabled } = schedule;
  const pattern = patternOf(schedule);
  const now = host.now();
  const state = host.files.read().get(name);
  // A new schedule: fires before this moment are not missed ones.
  if (state === undefined)
    return host.files.update(name, (found) => found ?? { handled: iso(now), pattern });
  const isOther = state.pattern !== undefined && state.pattern !== pattern;
  const handled = isOther ? now : Date.parse(state.handled);
  const begun = state.begun === undefined ? Number.NaN : Date.parse(state.begun);
  const policy = { missed, isOff: !enabled || state.paused !== undefined };
  const known = { handled, begun: Number.isNaN(begun) ? null : begun };
  const due = dueFires(known, now, policy, fires);
  if (due.hasSkipped && !policy.isOff) {
    emit({ kind: "skipped", name, why: "missed while no viv up ran" });
  }
  for (const time of due.fires) await fire(schedule, time, host, emit);
  const isNoted = state.pattern === pattern;
  if (isNoted && due.handled === handled) return;
  if (
    isNoted &&
    due.fires.length === 0 &&
    !due.hasSkipped &&
    Math.abs(due.handled - handled) < SAVE_AFTER_MS
  ) {
    return; // nothing lies between, so that both mean the same
  }
  await host.files.update(name, (found) => ({
    ...found,
    ...{ handled: iso(due.handled), pattern },
  }));
}

function patternOf({ cron, timezone }: Schedule): string {
  return `${cron} ${timezone}`;
}

/** Those that were never seen begin with the present, all in one write. */
async function beginNew(schedules: readonly Schedule[], { files, now }: ScheduleHost) {
  await files.updateAll((states) => {
    const fresh = schedules.filter(({ name }) => !states.has(name));
    for (const one of fresh) {
      states.set(one.name, { handled: iso(now()), pattern: patternOf(one) });
    }
    return fresh.length > 0;
  });
}

/** Of `handled`, when nothing has happened: a file that is not written is no work for the disk. */
const SAVE_AFTER_MS = 3_600_000;

/**
 * Enqueues a fire, once: begun, enqueued, handled. A crash between two of them leaves a fire that the next
 * pass finishes; its ids are not new then.
 */
async function fire(
  schedule: Schedule,
  time: number,
  host: ScheduleHost,
  emit: (event: ScheduleEvent) => void,
): Promise<void> {
  const { name } = schedule;
  const { files, store } = host;
  const at = iso(time);
  const change = (more: (state: ScheduleState) => ScheduleState) =>
    files.update(name, (found) => more(found ?? { handled: at }));
  const { begun, last } = files.read().get(name) ?? {};
  if (begun !== at && !schedule.overlap && last && (await isUnfinished(last.ids, store))) {
    emit({ kind: "skipped", name, fire: at, why: `tasks of ${last.fire} are unfinished` });
    return change((state) => ({ ...state, handled: at }));
  }
  await change((state) => ({ ...state, begun: at }));
  try {
    const specs = tasksOf(schedule, fireId(schedule, time), textFor(schedule, host));
    const { enqueued } = await store.enqueueMany(each(specs), { ifAbsent: true });
    const ids = specs.flatMap((spec) => spec.id ?? []);
    await change(({ begun: _, note: __, ...state }) => ({
      ...state,
      handled: later(state.handled, at),
      last: { fire: at, ids },
    }));
    emit({ kind: "fired", name, fire: at, tasks: specs.length, created: enqueued });
  } catch (error) {
    const note = messageOf(error);
    let isNews = false;
    await change((state) => {
      isNews = state.note !== note;
      return { ...state, note };
    });
    if (isNews) emit({ kind: "failed", name, fire: at, why: note });
    throw error;
  }
}

async function isUnfinished(ids: readonly string[], store: Pick<Store, "show">): Promise<boolean> {
  for (const id of ids) {
    const state = (await store.show(id))?.state;
    if (state !== undefined && state !== "done" && state !== "failed") return true;
  }
  return false;
}

/** The text of its file; empty when it has none. */
export function textFor(
  { tasks }: Schedule,
  { folder, readText }: Pick<ScheduleHost, "folder" | "readText">,
): string {
  return tasks.kind === "file" ? readText(resolve(folder, tasks.path)) : "";
}

export async function* each(specs: readonly TaskSpec[]): AsyncGenerator<TaskSpec> {
  yield* specs;
}

function later(a: string, b: string): string {
  return a > b ? a : b;
}

function iso(time: number): string {
  return new Date(time).toISOString();
}

/** Clocks jump and machines sleep: it looks at least this often. */
const LOOK_AT_LEAST_MS = 30_000;
const RETRY_MS = 60_000;
const NEW = { tryAt: 0, note: "" };

/** All schedules of a viv.toml, until the signal is aborted. `wait` ends early when that is aborted. */
export async function runSchedules(
  schedules: readonly Schedule[],
  host: ScheduleHost,
  emit: (event: ScheduleEvent | { kind: "well"; doing: string; note: string }) => void,
  signal: AbortSignal,
  wait: (ms: number, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const all = schedules.map((one) => ({ one, fires: firesOf(one.cron, one.timezone), ...NEW }));
  let said = "";
  await beginNew(schedules, host).catch(() => {}); // each pass tries, too, and says why not
  while (!signal.aborted) {
    for (const entry of all) {
      if (signal.aborted) return;
      if (host.now() < entry.tryAt && entry.tryAt - host.now() <= RETRY_MS) continue;
      entry.tryAt = 0;
      try {
        await passOver(entry.one, host, emit, entry.fires);
        entry.note = "";
      } catch (error) {
        entry.tryAt = host.now() + RETRY_MS;
        const { name } = entry.one;
        entry.note = `${name} could not fire: ${messageOf(error)}`;
        emit({ kind: "trouble", name, message: entry.note });
      }
    }
    const now = host.now();
    // A paused one too: it may be resumed meanwhile.
    const wakeAt = nextOf(all, now)?.at ?? Infinity;
    const doing = doingAt(now, all, host);
    // Of all that fail: the others are well meanwhile.
    const note = all.flatMap((entry) => entry.note || []).join("; ");
    if (doing + note !== said) emit({ kind: "well", doing, note });
    said = doing + note;
    await wait(Math.min(LOOK_AT_LEAST_MS, Math.max(1, wakeAt - now)), signal);
  }
}

interface Entry {
  one: Schedule;
  fires: Fires;
}

/** For people: which schedule fires next. */
function doingAt(now: number, all: readonly Entry[], { files }: ScheduleHost): string {
  let states: ReadonlyMap<string, ScheduleState> = new Map();
  try {
    states = files.read();
  } catch {} // the passes over the schedules say it
  const next = nextOf(
    all.filter(({ one }) => states.get(one.name)?.paused === undefined),
    now,
  );
  if (next !== null) {
    const { name, timezone } = next.one;
    return `next: ${name}, ${localTime(next.at, timezone)} ${timezone}`;
  }
  return all.some(({ one }) => one.enabled) ? "all are paused" : "no schedule is enabled";
}

function nextOf(all: readonly Entry[], now: number): { one: Schedule; at: number } | null {
  const times = all.flatMap(({ one, fires }) => {
    const at = one.enabled ? fires.after(now) : null;
    return at === null ? [] : [{ one, at }];
  });
  return times.sort((a, b) => a.at - b.at)[0] ?? null;
}
