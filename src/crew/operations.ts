import * as z from "zod/mini";
import type { ProcessIdentity } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { count, events, flag, text } from "../operation/fields.ts";
import {
  type Context,
  defineOperation,
  defineStream,
  eventsOf,
  type Nothing,
  serve,
} from "../operation/operation.ts";
import { askingOf, assertOk, isSupervised, stateFolder } from "./ask.ts";
import { type CrewChoice, type CrewEvent, crewFor, crewSurroundings } from "./assemble.ts";
import { chooseAgain, chooseCrew } from "./choose.ts";
import type { CrewPorts } from "./crew-ports.ts";
import {
  type CrewLine,
  holderFrom,
  MEMBER_STATES,
  type MemberStatus,
  TICK_OUTCOMES,
} from "./status.ts";

const input = z.strictObject({
  manifest: text("the crew's manifest, org or TOML (default: WB_CREW_DEF, or [crew] in viv.toml)"),
  grace: text("delay before the first tick (default 60s)"),
  stagger: text("delay between the first ticks of two members (default 30s)"),
  max_concurrent: count("concurrent runs (default 2)"),
  port: z.optional(
    z.int().check(z.gte(0), z.lte(65535)).check(z.describe("port of /_activity; 0: any")),
  ),
  state: text("state folder (default .crew beside the manifest)"),
});

export type CrewUpInput = z.output<typeof input>;

export const crewUp = defineStream({
  name: "crew up",
  summary: "start the standing agents of a manifest, each on its own schedule, behind one gate",
  input,
  event: events<CrewEvent>(),
  output: z.object({}),
  drains: true,
  async *stream(context, given) {
    return yield* crewStream(context, await chooseCrew(context, { kind: "crew", ...given }));
  },
});

const keeperInput = z.strictObject({
  def: text("the agent's def, org or Markdown (default: WB_KEEPER_DEF)"),
  grace: text("delay before the first tick (default 60s)"),
  interval: text("time between ticks (default 1h)"),
  mode: z.optional(z.enum(["plan", "edit"]).check(z.describe("plan (default) or edit"))),
  engine: text("engine (default claude; exec with --command)"),
  command: text("shell command for exec; gets the prompt on stdin"),
  model: text("model of the engine"),
  lifecycle: text("lifecycle spec"),
  workdir: text("working folder (default: the def's folder)"),
  run_if: text("shell command run before each tick; nonzero skips the tick"),
  budget_usd_day: text("dollars per UTC day"),
  continuous: flag("pause 45s after each run instead of the interval"),
  port: z.optional(
    z.int().check(z.gte(0), z.lte(65535)).check(z.describe("port of /_activity; 0: any")),
  ),
  state: text("state folder (default .crew beside the def)"),
});

export type KeeperUpInput = z.output<typeof keeperInput>;

export const keeperUp = defineStream({
  name: "keeper up",
  summary: "start a single standing agent: no gate, state files without a suffix",
  input: keeperInput,
  event: events<CrewEvent>(),
  output: z.object({}),
  drains: true,
  async *stream(context, given) {
    return yield* crewStream(context, await chooseCrew(context, { kind: "keeper", ...given }));
  },
});

/** The crew or the keeper of this choice, until it is stopped. */
export function crewStream(context: Context, choice: CrewChoice) {
  return serve<CrewEvent, Nothing>(context, async (emit) => {
    const crew = await crewFor(context, choice, emit);
    return {
      ...crew,
      run: async () => {
        if (!context.signal.aborted) await crew.run();
        return {};
      },
    };
  });
}

export const crewPs = defineOperation({
  name: "crew ps",
  summary: "the members of a crew: state, last run, next tick, streak, lifecycle, cost today",
  input: z.strictObject({
    state: text("the crew's state folder (default: the nearest .crew)"),
  }),
  output: z.object({
    state: z.string(),
    supervisor: z.object({
      running: z.boolean(),
      pid: z.nullable(z.number()),
      manifest: z.nullable(z.string()),
      port: z.nullable(z.number()),
    }),
    /** One tick of one member, by a `viv crew tick` without a crew. */
    tick: z.nullable(z.object({ name: z.string(), pid: z.number() })),
    members: z.array(
      z.object({
        name: z.string(),
        state: z.enum([...MEMBER_STATES, "not running"]),
        since: z.string(),
        outcome: z.nullable(z.enum(TICK_OUTCOMES)),
        note: z.string(),
        last_run: z.nullable(z.string()),
        next_tick: z.nullable(z.string()),
        streak: z.number(),
        lifecycle: z.nullable(z.string()),
        saved: z.number(),
        cost_today: z.number(),
        thought: z.nullable(z.string()),
        /** The warden's question to its run, while that is open. */
        asked: z.nullable(z.string()),
      }),
    ),
  }),
  async run(context, given) {
    const { here, ports } = await crewSurroundings(context);
    const state = stateFolder(given.state, here, ports);
    const files = ports.filesIn(state);
    const crew = files.readJson("crew") as CrewJson | null;
    const running = isSupervised(crew, ports);
    const singleton = crew?.singleton === true;
    const tick = running ? null : tickIn(files.holder(), ports);
    const names = singleton ? [""] : (crew?.members ?? files.names().filter((name) => name !== ""));
    const day = new Date(context.now()).toISOString().slice(0, 10);
    const members = names.flatMap((name) => {
      const status = files.status(name);
      const isUp = running || status?.name === tick?.name;
      if (status === null) return [];
      const asked = status.run === null ? null : files.question(status.name);
      return [{ ...memberOf(status, isUp, day), asked }];
    });
    return {
      state,
      supervisor: {
        running,
        pid: running ? crew.pid : null,
        manifest: crew?.manifest ?? null,
        port: running ? (crew?.port ?? null) : null,
      },
      tick,
      members,
    };
  },
});

function tickIn(value: unknown, ports: CrewPorts): { name: string; pid: number } | null {
  const holder = holderFrom(value);
  if (holder?.kind !== "tick" || holder.member === undefined) return null;
  return ports.machine.vitality(holder) === "alive"
    ? { name: holder.member, pid: holder.pid }
    : null;
}

interface CrewJson extends ProcessIdentity {
  manifest: string;
  members: string[];
  singleton?: boolean;
  port: number | null;
}

function memberOf(status: MemberStatus, isUp: boolean, day: string) {
  const { name, since, outcome, note, last_run, next_tick, streak, lifecycle, saved, thought } =
    status;
  return {
    ...{ name, since, outcome, note, last_run, streak, lifecycle, saved, thought },
    state: isUp
      ? status.state
      : status.state === "parked"
        ? status.state
        : ("not running" as const),
    next_tick: isUp ? next_tick : null,
    cost_today: status.day === day ? status.cost_today : 0,
  };
}

export const crewState = text("the crew's state folder (default: the nearest .crew)");
export const memberName = z.string().check(z.describe("the member"));

export const crewPause = defineOperation({
  name: "crew pause",
  summary: "pause a member until it is resumed; a current run may finish",
  input: z.strictObject({ name: memberName, state: crewState }),
  output: z.object({ name: z.string(), state: z.string() }),
  run: (context, given) => setPaused(context, given, true),
});

export const crewResume = defineOperation({
  name: "crew resume",
  summary: "resume a paused or parked member",
  input: z.strictObject({ name: memberName, state: crewState }),
  output: z.object({ name: z.string(), state: z.string() }),
  run: (context, given) => setPaused(context, given, false),
});

/** Without a crew that runs, the file alone says it: whoever starts next heeds it. */
async function setPaused(
  context: Parameters<typeof askingOf>[0],
  given: { name: string; state?: string },
  isPaused: boolean,
): Promise<{ name: string; state: string }> {
  const { ask, ports, state } = await askingOf(context, given.state);
  if (ask) {
    const cmd = isPaused ? "pause" : "resume";
    const answer = assertOk(await ask({ cmd, name: given.name }));
    return { name: given.name, state: answer.state ?? cmd };
  }
  const files = ports.filesIn(state);
  // The singleton's files have no name in them; its status says what it is called.
  const names = new Map(files.names().map((key) => [key || (files.status("")?.name ?? ""), key]));
  const key = names.get(given.name);
  if (key === undefined) {
    const known = [...names.keys()].join(", ");
    throw new VivError("TASK_NOT_FOUND", `there is no member ${given.name}; there are: ${known}`);
  }
  files.setPaused(key, isPaused);
  return { name: given.name, state: isPaused ? "paused" : "not running" };
}

export const crewStop = defineOperation({
  name: "crew stop",
  summary: "stop a crew; current runs may finish",
  input: z.strictObject({ state: crewState }),
  output: z.object({ stopped: z.boolean() }),
  async run(context, given) {
    const { ask } = await askingOf(context, given.state);
    if (!ask) return { stopped: false };
    assertOk(await ask({ cmd: "stop" }));
    return { stopped: true };
  },
});

export interface Ticked {
  name: string;
  outcome: string | null;
  /** What it is after that. */
  state: string;
  note: string;
}

const LOOK_MS = 100;

/** By the crew that runs, or else right here. */
export const crewTick = defineStream({
  name: "crew tick",
  summary: "run one tick of a member now, regardless of its schedule",
  input: z.strictObject({ name: memberName, state: crewState }),
  /** Its steps as they come, and at last what came of it. */
  event: z.looseObject({}) as unknown as z.ZodMiniType<CrewLine | Ticked>,
  output: z.object({
    name: z.string(),
    outcome: z.nullable(z.string()),
    state: z.string(),
    note: z.string(),
  }),
  stream: (context, given) =>
    eventsOf<CrewLine | Ticked, Ticked>(async (emit) => {
      const ticked = await watchTick(context, given, emit);
      emit(ticked);
      return ticked;
    }),
});

async function watchTick(
  context: Context,
  given: { name: string; state?: string },
  onLine: (line: CrewLine) => void,
): Promise<Ticked> {
  const { name } = given;
  const { signal } = context;
  const { ask, ports, state } = await askingOf(context, given.state);
  const files = ports.filesIn(state);
  let { place } = files.linesFrom(null);
  const look = () => {
    const news = files.linesFrom(place);
    place = news.place;
    for (const line of news.lines) if (line.agent === name) onLine(line);
  };
  let isOver = false;
  const lookLater = () => {
    ports.timers.after(LOOK_MS, () => {
      if (isOver) return;
      look();
      lookLater();
    });
  };
  lookLater();
  try {
    const {
      outcome = null,
      note = "",
      state: is = "",
    } = ask
      ? assertOk(await ask({ cmd: "tick", name }, signal))
      : await tickHere(context, state, name, signal);
    look();
    return { name, outcome, state: is, note };
  } finally {
    isOver = true;
  }
}

async function tickHere(
  context: Context,
  state: string,
  name: string,
  signal: AbortSignal,
): Promise<{ outcome: string | null; state: string; note: string }> {
  const crew = await crewFor(context, await chooseAgain(context, state), () => {});
  signal.addEventListener("abort", () => void crew.stopNow());
  return crew.tickOnce(name);
}
