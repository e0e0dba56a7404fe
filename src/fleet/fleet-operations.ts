import * as z from "zod/mini";
import { VivError } from "../base/errors.ts";
import { events, flag, text } from "../operation/fields.ts";
import {
  type Context,
  defineOperation,
  defineStream,
  eventsOf,
  type Stamped,
} from "../operation/operation.ts";
import type { FileLock } from "../platform/files/file-lock.ts";
import { fleetAround, upsMeant } from "./find-ups.ts";
import { type FleetPort, fleetPort } from "./fleet-ports.ts";
import { type ShownUp, shownUp, type Up } from "./ups.ts";

const psOutput = z.extend(shownUp, {
  /** Further ones that are found from here, and run or have left processes. */
  others: z.array(shownUp),
});
export type PsOutput = z.output<typeof psOutput>;

const config = text("agents file (default: what is found from here)");

export const ps = defineOperation({
  name: "ps",
  summary: "the parts of the running viv up: state, process, restarts, work at hand",
  changes: () => false,
  input: z.strictObject({ config }),
  output: psOutput,
  async run(context, given): Promise<PsOutput> {
    const ups = await upsMeant(context, given.config);
    const all = await Promise.all(ups.map((up) => up.shown()));
    const first = all.find(isThere) ?? all[0];
    if (first === undefined) throw new Error("no viv up is meant");
    return { ...first, others: all.filter((one) => one !== first && isThere(one)) };
  },
});

function isThere({ running, parts }: ShownUp): boolean {
  return running || parts.length > 0;
}

export type DownEvent =
  | { kind: "asked"; pid: number; now: boolean }
  | { kind: "waits"; working: string[]; now: boolean }
  /** Left by an earlier viv up, which was killed. */
  | { kind: "left"; part: string; pid: number; now: boolean }
  /** It has not said so long that it stops, or does not end. */
  | { kind: "silent"; pid: number; seconds: number }
  | { kind: "gone"; pid: number }
  | { kind: "none"; run: string };

/** It is looked for this often; nothing tells us of the end of a process that is not our child. */
const LOOK_AGAIN_MS = 100;

export const down = defineStream({
  name: "down",
  summary: "stop the running viv up: its parts finish what they have begun",
  input: z.strictObject({
    now: flag("give back what has begun (a task goes to pending again)"),
    config,
  }),
  event: events<DownEvent>(),
  output: z.object({ was_running: z.boolean() }),
  async *stream(context, given) {
    return yield* eventsOf<Stamped<DownEvent>, { was_running: boolean }>((emit) =>
      stopAll(context, given, (event) => {
        emit({ ...event, at: new Date(context.now()).toISOString() });
      }),
    );
  },
});

async function stopAll(
  context: Context,
  { now = false, config: file }: { now?: boolean; config?: string },
  emit: (event: DownEvent) => void,
): Promise<{ was_running: boolean }> {
  const fleet = await context.use(fleetPort);
  const ups = await upsMeant(context, file);
  const running = ups.filter(({ holder }) => holder !== null);
  // One that cannot be stopped from here does not save the others.
  const refused: VivError[] = [];
  let hadLeft = false;
  for (const up of ups) {
    const why = whyNot(up, fleet);
    if (why !== null) {
      refused.push(why);
      continue;
    }
    await stop(context, up, now, fleet, emit);
    if (await endLeft(context, up, now, fleet, emit)) hadLeft = true;
  }
  const [first] = refused;
  if (first !== undefined) throw first;
  if (running.length === 0 && !hadLeft) emit({ kind: "none", run: ups[0]?.run ?? "" });
  return { was_running: running.length > 0 };
}

/** What would not stop: on another host, or started again at once by the fleet it belongs to. */
function whyNot(up: Up, fleet: FleetPort): VivError | null {
  const { holder } = up;
  if (holder === null) return null;
  const { host, pid } = holder;
  if (fleet.machine.vitality(holder) === "unknown") {
    const message = `viv up runs on ${host}, pid ${pid}; stop it there: viv down`;
    return new VivError("WRONG_STATE", message, { host, pid });
  }
  const run = fleetAround(up, fleet);
  if (run === null) return null;
  const message = `these agents are a part of the viv up on ${run}; stop that: viv down --run ${run}`;
  return new VivError("WRONG_STATE", message, { run, pid });
}

/** In which a supervisor hears a signal. */
const HEARS_WITHIN_S = 20;
/** And in which it ends after the second one, with what it has to kill before. */
const ENDS_WITHIN_S = 90;

/**
 * SIGTERM, and to stop at once SIGINT when the first was heard: two signals at the same moment could
 * count as one. A second one means "at once", and a third that it ends alone; so each is sent by one
 * `viv down` only, which keeps the turn until it sees that it was heard, and dies with it.
 */
async function stop(
  context: Context,
  up: Up,
  atOnce: boolean,
  { machine, timers, ask }: FleetPort,
  emit: (event: DownEvent) => void,
): Promise<void> {
  const { holder } = up;
  if (holder === null) return;
  const { pid } = holder;
  emit({ kind: "asked", pid, now: atOnce });
  const asked = new Set<string>();
  let isHeard = false;
  let turn: Pick<FileLock, "release"> | null = null;
  let told = "";
  let awaited: string | null = "";
  let since = machine.clock.uptime();
  try {
    while (machine.vitality(holder) === "alive" && !context.signal.aborted) {
      // Where nothing can be locked, it must be possible to stop it all the same.
      if (!isHeard) turn ??= await up.takeTurn().catch(() => ({ release: () => {} }));
      const stopping = await up.stopping();
      const next = nextSignal(stopping, atOnce);
      if (next !== awaited) since = machine.clock.uptime();
      awaited = next;
      const seconds = Math.round(machine.clock.uptime() - since);
      if (seconds > patience(next, atOnce)) {
        // Only said: with a full disk it stops, and cannot say so.
        emit({ kind: "silent", pid, seconds });
        since = Number.POSITIVE_INFINITY;
      }
      if (next === null) {
        isHeard = true;
        turn?.release();
      } else if (turn !== null && !asked.has(next)) {
        asked.add(next);
        ask(pid, next);
      }
      if (stopping !== null && stopping.working.join() !== told) {
        told = stopping.working.join();
        emit({ kind: "waits", working: stopping.working, now: atOnce });
      }
      await new Promise<void>((resolve) => void timers.after(LOOK_AGAIN_MS, resolve));
    }
  } finally {
    turn?.release();
  }
  if (machine.vitality(holder) !== "alive") emit({ kind: "gone", pid });
}

/** For how many seconds nothing may happen. Begun work may take as long as it likes. */
function patience(next: string | null, atOnce: boolean): number {
  if (next !== null) return HEARS_WITHIN_S;
  return atOnce ? ENDS_WITHIN_S : Number.POSITIVE_INFINITY;
}

/** From the signal to the kill, as the supervisor does it. */
const KILL_AFTER_S = 30;

/**
 * What a killed `viv up` has left stops by itself after what it has begun, since its stdin has closed:
 * it is waited for. One signal more means "at once", and a second would keep it from giving its work
 * back: so one `viv down` has the turn until all are gone.
 */
async function endLeft(
  { signal }: Context,
  up: Up,
  atOnce: boolean,
  { machine, timers, ask }: FleetPort,
  emit: (event: DownEvent) => void,
): Promise<boolean> {
  if (signal.aborted) return false;
  const left = up.left();
  for (const { part, process } of left) emit({ kind: "left", part, pid: process.pid, now: atOnce });
  let there = left;
  let turn: Pick<FileLock, "release"> | null = null;
  let killAt = Number.POSITIVE_INFINITY;
  try {
    while (there.length > 0 && !signal.aborted) {
      if (atOnce && turn === null) {
        turn = await up.takeTurn().catch(() => ({ release: () => {} }));
        if (turn !== null) killAt = machine.clock.uptime() + KILL_AFTER_S;
        for (const { process } of turn === null ? [] : there) ask(process.pid, "SIGTERM");
      }
      await new Promise<void>((resolve) => void timers.after(LOOK_AGAIN_MS, resolve));
      const isGone = ({ process }: (typeof left)[number]) => machine.vitality(process) !== "alive";
      for (const { process } of there.filter(isGone)) emit({ kind: "gone", pid: process.pid });
      there = there.filter((one) => !isGone(one));
      // Each leads a group of its own.
      const isLate = machine.clock.uptime() > killAt;
      for (const { process } of isLate ? there : []) ask(-process.pid, "SIGKILL");
    }
  } finally {
    turn?.release();
  }
  return left.length > 0;
}

function nextSignal(stopping: { atOnce: boolean } | null, atOnce: boolean) {
  if (stopping === null) return "SIGTERM";
  return atOnce && !stopping.atOnce ? "SIGINT" : null;
}
