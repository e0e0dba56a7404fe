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
  for (const up of running) {
    const why = whyNot(up, fleet);
    if (why === null) await stop(context, up, now, fleet, emit);
    else refused.push(why);
  }
  const [first] = refused;
  if (first !== undefined) throw first;
  if (running.length === 0) emit({ kind: "none", run: ups[0]?.run ?? "" });
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

async function stop(
  context: Context,
  { holder, stopping }: Up,
  atOnce: boolean,
  { machine, timers, ask }: FleetPort,
  emit: (event: DownEvent) => void,
): Promise<void> {
  if (holder === null) return;
  const { pid } = holder;
  // To one that stops already, another signal would mean "at once", and a third that it ends alone.
  if ((await stopping()) === null) ask(pid, "SIGTERM");
  emit({ kind: "asked", pid, now: atOnce });
  let isAskedTwice = false;
  let told = "";
  while (machine.vitality(holder) === "alive" && !context.signal.aborted) {
    const working = await stopping();
    if (working !== null) {
      // Not before it has heard the first: two signals at once could count as one.
      if (atOnce && !isAskedTwice) ask(pid, "SIGINT");
      isAskedTwice = true;
      if (working.join() !== told) emit({ kind: "waits", working, now: atOnce });
      told = working.join();
    }
    await new Promise<void>((resolve) => void timers.after(LOOK_AGAIN_MS, resolve));
  }
  if (machine.vitality(holder) !== "alive") emit({ kind: "gone", pid });
}
