import * as z from "zod/mini";
import { isVivError, VivError } from "../base/errors.ts";
import { events, flag } from "../operation/fields.ts";
import {
  type Context,
  defineOperation,
  defineStream,
  eventsOf,
  runPlacePort,
  type Stamped,
} from "../operation/operation.ts";
import type { FleetState, PartState } from "./fleet-files.ts";
import { type FleetPort, fleetPort } from "./fleet-ports.ts";
import { leftoversOf } from "./leftovers.ts";

const part = z.object({
  name: z.string(),
  kind: z.string(),
  /** As in `fleet-files.ts`, or `left over`. */
  state: z.string(),
  pid: z.nullable(z.number()),
  since: z.string(),
  restarts: z.number(),
  doing: z.string(),
  note: z.string(),
});

const psOutput = z.object({
  run_dir: z.string(),
  running: z.boolean(),
  /** `starting working stopping`, or `not running`. */
  state: z.string(),
  pid: z.nullable(z.number()),
  host: z.nullable(z.string()),
  since: z.nullable(z.string()),
  config: z.nullable(z.string()),
  note: z.string(),
  address: z.nullable(z.string()),
  log: z.nullable(z.string()),
  parts: z.array(part),
});
export type PsOutput = z.output<typeof psOutput>;

const NOT_RUNNING = "not running";
export const LEFT_OVER = "left over";

export const ps = defineOperation({
  name: "ps",
  summary: "the parts of the running viv up: state, process, restarts, work at hand",
  changes: () => false,
  input: z.strictObject({}),
  output: psOutput,
  async run(context): Promise<PsOutput> {
    const fleet = await context.use(fleetPort);
    return shownFleet(await runMeant(context, fleet), fleet);
  },
});

/** Also where viv.toml has mistakes, or is gone: a fleet that runs must be seen, and can be stopped. */
async function runMeant(context: Context, { runNamed }: FleetPort): Promise<string> {
  try {
    return (await context.use(runPlacePort)).path;
  } catch (error) {
    const isUnclear = isVivError(error, "INVALID") || isVivError(error, "USAGE");
    const named = isUnclear ? runNamed() : null;
    if (named === null) throw error;
    return named;
  }
}

function shownFleet(run: string, { filesIn, machine, addressIn }: FleetPort): PsOutput {
  const files = filesIn(run);
  const last = files.read();
  const isThere = last !== null && isRunning(last, machine);
  if (last !== null && isThere) {
    const { state, pid, host, since, config, note } = last;
    const isHere = machine.vitality(last) === "alive";
    const unverified = `last reported on ${host}; cannot be verified from this host`;
    return {
      ...{ run_dir: run, running: true, state, pid, host, since, config },
      note: isHere ? note : unverified,
      address: addressIn(run),
      log: files.logPath,
      parts: last.parts.map(({ process, ...rest }) => ({ ...rest, pid: process?.pid ?? null })),
    };
  }
  const isLost = last !== null && last.state !== "stopped";
  return {
    ...{ run_dir: run, running: false, state: NOT_RUNNING, pid: null, host: null },
    ...{ since: last?.since ?? null, config: null, address: addressIn(run) },
    note: isLost ? `pid ${last.pid} is gone and did not stop in order` : "",
    log: last === null ? null : files.logPath,
    parts: leftoversOf(last, machine).map(({ part, process }) => shownLeftover(part, process.pid)),
  };
}

function shownLeftover({ process: _, ...part }: PartState, pid: number): PsOutput["parts"][number] {
  const note = `its viv up is gone; it ends after what it has begun, or at once: kill -TERM ${pid}, twice`;
  return { ...part, state: LEFT_OVER, pid, note };
}

export function isRunning(last: FleetState, machine: FleetPort["machine"]): boolean {
  return last.state !== "stopped" && machine.vitality(last) !== "gone";
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
  input: z.strictObject({ now: flag("give back what has begun (a task goes to pending again)") }),
  event: events<DownEvent>(),
  output: z.object({ was_running: z.boolean() }),
  async *stream(context, { now = false }) {
    return yield* eventsOf<Stamped<DownEvent>, { was_running: boolean }>((emit) =>
      stopFleet(context, now, (event) => {
        emit({ ...event, at: new Date(context.now()).toISOString() });
      }),
    );
  },
});

async function stopFleet(
  context: Context,
  atOnce: boolean,
  emit: (event: DownEvent) => void,
): Promise<{ was_running: boolean }> {
  const fleet = await context.use(fleetPort);
  const { filesIn, machine, timers, ask } = fleet;
  const path = await runMeant(context, fleet);
  const files = filesIn(path);
  const first = files.read();
  if (first === null || !isRunning(first, machine)) {
    emit({ kind: "none", run: path });
    return { was_running: false };
  }
  if (machine.vitality(first) === "unknown") {
    const message = `viv up runs on ${first.host}, pid ${first.pid}; stop it there: viv down`;
    throw new VivError("WRONG_STATE", message, { host: first.host, pid: first.pid });
  }
  const { pid } = first;
  // To one that stops already, another signal would mean "at once", and a third that it ends alone.
  if (first.state !== "stopping") ask(pid, "SIGTERM");
  emit({ kind: "asked", pid, now: atOnce });
  let isAskedTwice = false;
  let told = "";
  while (machine.vitality(first) === "alive" && !context.signal.aborted) {
    const state = files.read();
    if (state?.pid === pid && state.state === "stopping") {
      // Not before it has heard the first: two signals at once could count as one.
      if (atOnce && !isAskedTwice) ask(pid, "SIGINT");
      isAskedTwice = true;
      const working = workingIn(state);
      if (working.join() !== told) emit({ kind: "waits", working, now: atOnce });
      told = working.join();
    }
    await new Promise<void>((resolve) => void timers.after(LOOK_AGAIN_MS, resolve));
  }
  if (machine.vitality(first) !== "alive") emit({ kind: "gone", pid });
  return { was_running: true };
}

function workingIn({ parts }: FleetState): string[] {
  return parts
    .filter((one) => one.state === "stopping" && one.doing !== "" && one.kind !== "server")
    .map(({ name, doing }) => `${name}: ${doing}`);
}
