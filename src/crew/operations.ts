import * as z from "zod/mini";
import { VivError } from "../base/errors.ts";
import { keepSealed } from "../ledger/keep-sealed.ts";
import { ledgerFolderIn } from "../ledger/room-ledger.ts";
import { count, events, flag, list, text } from "../operation/fields.ts";
import {
  type Context,
  defineOperation,
  defineStream,
  eventsOf,
  type Nothing,
  serve,
} from "../operation/operation.ts";
import { type CrewChoice, crewFor } from "./assemble.ts";
import { chooseAgain, chooseCrew } from "./choose.ts";
import type { CrewEvent, CrewPorts } from "./crew-ports.ts";
import {
  type CrewLine,
  holderFrom,
  MEMBER_STATES,
  type MemberStatus,
  TICK_OUTCOMES,
} from "./member-status.ts";
import { findCrew, isSupervised } from "./requests.ts";

const grace = text("delay before the first tick (default: 60s)");
const port = z.optional(
  z.int().check(z.gte(0), z.lte(65535)).check(z.describe("port; 0: any free one (of /_activity)")),
);

const origins = list("web origins that may read /_activity, like https://news.example");

const input = z.strictObject({
  manifest: text("the crew's manifest, org or TOML (default: WB_CREW_DEF, or [crew] in viv.toml)"),
  grace,
  stagger: text("delay between the first ticks of two members (default: 30s)"),
  max_concurrent: count("slots of the crew's gate (default: 2)"),
  ...{ port, origins },
  state: text("state folder (default: .crew beside the manifest)"),
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
  grace,
  interval: text("time between ticks (default: 1h)"),
  mode: z.optional(z.enum(["plan", "edit"]).check(z.describe("plan (default) or edit"))),
  engine: text("engine (default: claude; exec with --command)"),
  command: text("shell command for exec; gets the prompt on stdin"),
  model: text("name of a model (for the engine)"),
  lifecycle: text("lifecycle spec"),
  workdir: text("working folder (default: the def's folder)"),
  run_if: text("shell command run before each tick; nonzero skips the tick"),
  budget_usd_day: text("dollars per UTC day"),
  continuous: flag("pause 45s after each run instead of the interval"),
  ...{ port, origins },
  state: text("state folder (default: .crew beside the def)"),
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

export function crewStream(context: Context, choice: CrewChoice) {
  return serve<CrewEvent, Nothing>(context, async (emit) => {
    const crew = await crewFor(context, choice, emit);
    return {
      run: async () => {
        const warn = (message: string) => emit({ kind: "log", text: message });
        const ledger = ledgerFolderIn(choice.state);
        const sealer = keepSealed(ledger, { now: context.now, warn });
        try {
          if (!context.signal.aborted) await crew.run();
        } finally {
          await sealer.stop();
        }
        return {};
      },
      stop: () => crew.stop(),
      stopNow: () => crew.stopNow(),
    };
  });
}

const state = text("state folder (default: the nearest .crew)");
const nullable = z.nullable(z.string());

export const crewPs = defineOperation({
  name: "crew ps",
  summary: "the members of a crew: state, last run, next tick, streak, lifecycle, cost today",
  input: z.strictObject({ state }),
  changes: () => false,
  output: z.object({
    state: z.string(),
    supervisor: z.object({
      ...{ running: z.boolean(), pid: z.nullable(z.number()) },
      ...{ manifest: nullable, port: z.nullable(z.number()) },
    }),
    /** One tick of one member, by a `viv crew tick` without a crew. */
    tick: z.nullable(z.object({ name: z.string(), pid: z.number() })),
    members: z.array(
      z.object({
        name: z.string(),
        state: z.enum([...MEMBER_STATES, "not running"]),
        since: z.string(),
        outcome: z.nullable(z.enum(TICK_OUTCOMES)),
        ...{ note: z.string(), last_run: nullable, next_tick: nullable, streak: z.number() },
        ...{ lifecycle: nullable, saved: z.number(), cost_today: z.number(), thought: nullable },
        /** The warden's question to its run, while that is open. */
        asked: nullable,
      }),
    ),
  }),
  async run(context, given) {
    const { state, ports, files } = await findCrew(context, given.state);
    const crew = files.crew();
    const running = isSupervised(crew, ports);
    const tick = running ? null : tickIn(files.holder(), ports);
    const names = crew?.singleton
      ? [""]
      : (crew?.members ?? files.names().filter((name) => name !== ""));
    const day = new Date(context.now()).toISOString().slice(0, 10);
    const members = names.flatMap((name) => {
      const status = files.status(name);
      if (status === null) return [];
      const isUp = running || status.name === tick?.name;
      const asked = status.run === null ? null : files.question(status.name);
      return [{ ...memberOf(status, isUp, day), asked }];
    });
    const { pid = null, port = null } = running ? crew : {};
    const supervisor = { running, pid, manifest: crew?.manifest ?? null, port };
    return { state, supervisor, tick, members };
  },
});

function tickIn(value: unknown, ports: CrewPorts): { name: string; pid: number } | null {
  const holder = holderFrom(value);
  if (holder?.kind !== "tick" || holder.member === undefined) return null;
  const { member: name, pid } = holder;
  return ports.machine.vitality(holder) === "alive" ? { name, pid } : null;
}

function memberOf(status: MemberStatus, isUp: boolean, day: string) {
  const { name, since, outcome, note, last_run, streak, lifecycle, saved, thought } = status;
  const isShown = isUp || status.state === "parked";
  return {
    ...{ name, since, outcome, note, last_run, streak, lifecycle, saved, thought },
    state: isShown ? status.state : ("not running" as const),
    next_tick: isUp ? status.next_tick : null,
    cost_today: status.day === day ? status.cost_today : 0,
  };
}

const name = z.string().check(z.describe("the member"));

export const crewPause = defineOperation({
  name: "crew pause",
  summary: "pause a member until it is resumed; a current run may finish",
  input: z.strictObject({ name, state }),
  output: z.object({ name: z.string(), state: z.string() }),
  run: (context, given) => setPaused(context, given, true),
});

export const crewResume = defineOperation({
  name: "crew resume",
  summary: "resume a paused or parked member",
  input: z.strictObject({ name, state }),
  output: z.object({ name: z.string(), state: z.string() }),
  run: (context, given) => setPaused(context, given, false),
});

/** Where no crew runs, the file alone counts: the next one to start reads it. */
async function setPaused(
  context: Context,
  { name, state }: { name: string; state?: string },
  isPaused: boolean,
): Promise<{ name: string; state: string }> {
  const { ask, files } = await findCrew(context, state);
  if (ask) {
    const cmd = isPaused ? "pause" : "resume";
    return { name, state: (await ask({ cmd, name })).state ?? cmd };
  }
  // The singleton's files have no name in them; its status has it.
  const keys = new Map(files.names().map((key) => [key || (files.status("")?.name ?? ""), key]));
  const key = keys.get(name);
  if (key === undefined) {
    const known = [...keys.keys()].join(", ");
    throw new VivError("TASK_NOT_FOUND", `there is no member ${name}; there are: ${known}`);
  }
  files.setPaused(key, isPaused);
  const event = isPaused ? "paused" : "resumed";
  files.record(context.now(), { room: "crew", event, agent: name, by: context.here.env.USER });
  return { name, state: isPaused ? "paused" : "not running" };
}

export const crewStop = defineOperation({
  name: "crew stop",
  summary: "stop a crew; current runs may finish",
  input: z.strictObject({ state }),
  output: z.object({ stopped: z.boolean() }),
  async run(context, given) {
    const { ask } = await findCrew(context, given.state);
    await ask?.({ cmd: "stop" });
    return { stopped: ask !== null };
  },
});

const ticked = z.object({
  ...{ name: z.string(), outcome: nullable, state: z.string(), note: z.string() },
});
export type Ticked = z.output<typeof ticked>;

const LOOK_MS = 100;

/** By the crew that runs, or else right here. */
interface Notice {
  notice: string;
}

export type TickLine = CrewLine | Notice | Ticked;

export const crewTick = defineStream({
  name: "crew tick",
  summary: "run one tick of a member now, regardless of its schedule",
  input: z.strictObject({ name, state }),
  /** Notices where no crew runs, whose log has them; its steps as they come; at last the result. */
  event: z.looseObject({}) as unknown as z.ZodMiniType<TickLine>,
  output: ticked,
  stream: (context, given) =>
    eventsOf<TickLine, Ticked>(async (emit) => {
      const result = await watchTick(context, given, emit);
      emit(result);
      return result;
    }),
});

async function watchTick(
  context: Context,
  given: { name: string; state?: string },
  onLine: (line: TickLine) => void,
): Promise<Ticked> {
  const { name } = given;
  const { ask, ports, state, files } = await findCrew(context, given.state);
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
    const end = ask
      ? await ask({ cmd: "tick", name }, context.signal)
      : await tickHere(context, state, name, onLine);
    look();
    return { name, outcome: end.outcome ?? null, state: end.state ?? "", note: end.note ?? "" };
  } finally {
    isOver = true;
  }
}

async function tickHere(
  context: Context,
  state: string,
  name: string,
  onNotice: (notice: Notice) => void,
) {
  const tell = (event: CrewEvent) => {
    if (event.kind === "log") onNotice({ notice: event.text });
    else if (event.kind === "trouble") onNotice({ notice: event.message });
  };
  const crew = await crewFor(context, await chooseAgain(context, state), tell, name);
  context.signal.addEventListener("abort", () => void crew.stopNow());
  if (context.signal.aborted) void crew.stopNow();
  return crew.tickAlone(name);
}
