import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseOptionalDuration } from "../base/duration.ts";
import { isVivError, messageOf, VivError } from "../base/errors.ts";
import type { CrewChoice } from "../crew/assemble.ts";
import { chooseFromSurroundings } from "../crew/choose.ts";
import { crewView } from "../crew/cli.ts";
import type { CrewEvent } from "../crew/crew-ports.ts";
import { crewStream } from "../crew/operations.ts";
import { upView } from "../fleet/cli.ts";
import { asLine, fleetView, type PartViews } from "../fleet/fleet-cli.ts";
import type { FleetEvent } from "../fleet/fleet-ports.ts";
import { readAgents, upInput, upStream } from "../fleet/operations.ts";
import type { PartKind } from "../fleet/parts.ts";
import { type UpEvent, upPort } from "../fleet/up-ports.ts";
import { type Command, UNTIL_STDIN_CLOSES } from "../operation/command.ts";
import { duration, flag } from "../operation/fields.ts";
import type { Io } from "../operation/io.ts";
import {
  type Context,
  defineStream,
  eventsOf,
  type RunPlace,
  runPlacePort,
  type Stamped,
} from "../operation/operation.ts";
import { plain, type Term } from "../operation/term.ts";
import { wardenView } from "../warden/cli/warden.ts";
import { wardenSection } from "../warden/config.ts";
import { wardenUp } from "../warden/operations/warden.ts";
import type { WardenEvent } from "../warden/warden-host.ts";
import { commands as workCommands } from "../work/cli.ts";
import { failedSince } from "../work/failed-since.ts";
import { isRun } from "./invoke.ts";
import { noteRun } from "./note-run.ts";
import { openRun } from "./open-run.ts";

/** `viv up`: the fleet of a run; or agents around a pit, or a crew, with the warden of `[warden]`. */

async function failedIn(pit: string, since: string): Promise<string[]> {
  const store = await openRun(pit, { readOnly: true });
  try {
    return await failedSince(store, since);
  } finally {
    await store.close();
  }
}

/** Events with the room they come from: the kinds of the rooms have the same names. */
type Emitted =
  | { of: "fleet"; event: Stamped<UpEvent> }
  | { of: "crew"; event: Stamped<CrewEvent> }
  | { of: "warden"; event: Stamped<WardenEvent> }
  | { of: "up"; event: Stamped<FleetEvent> }
  /** The warden has ended, or never began. */
  | { of: "notice"; message: string };

/** Food that got stuck while it drained. */
const output = z.object({ failed: z.optional(z.array(z.string())) });
type Output = z.output<typeof output>;

const input = z.extend(upInput, {
  detach: flag("run in the background; returns when it is ready"),
  no_server: flag("without the server of the page and the API"),
  no_warden: flag("without the warden of [warden]"),
  grace: duration("time for running tasks after a stop (default: no limit)"),
});

const up = defineStream({
  name: "up",
  summary: "run what viv.toml declares: workers, crew, warden, agents, server; restart what dies",
  input,
  event: z.looseObject({ of: z.string() }) as unknown as z.ZodMiniType<Emitted>,
  output,
  drains: true,
  async *stream(around, given) {
    const context = withGrace(around, parseOptionalDuration(given.grace, "--grace"));
    const mode = await modeFor(context, given);
    if (mode.of === "fleet") {
      const { detachFleet, superviseFleet } = await import("./up-fleet.ts");
      const events = given.detach
        ? detachFleet(context, mode.place, flagsOf(given))
        : superviseFleet(context, mode.place, given);
      for await (const event of events) yield { of: "up" as const, event };
      return {};
    }
    refuseFleetFlags(given, mode);
    if (given.detach) {
      const { detachAgents } = await import("./detach.ts");
      const events = detachAgents(context, given.config ?? "agents.toml", flagsOf(given));
      for await (const event of events) yield { of: "up" as const, event };
      return {};
    }
    const begin = new Date(context.now()).toISOString();
    return yield* eventsOf<Emitted, Output>((emit) =>
      besideWarden(context, given, emit, async () => {
        if (mode.of === "crew") {
          for await (const event of crewStream(context, mode.crew)) emit({ of: "crew", event });
          return {};
        }
        let pit: string | undefined;
        for await (const event of upStream(context, given)) {
          if (event.kind === "up") {
            pit = event.pit;
            noteRun(pit, context.here.env, context.here.cwd, context.now()); // ps and down look there
          }
          emit({ of: "fleet", event });
        }
        return given.drain && pit !== undefined ? { failed: await failedIn(pit, begin) } : {};
      }),
    );
  },
});

/** At the end of the grace it does by itself what the second signal does. */
function withGrace(context: Context, graceMs: number | undefined): Context {
  if (graceMs === undefined) return context;
  const over = new AbortController();
  const begin = () => void setTimeout(() => over.abort(), Math.min(graceMs, 2 ** 31 - 1)).unref();
  if (context.signal.aborted) begin();
  else context.signal.addEventListener("abort", begin, { once: true });
  return { ...context, urgent: AbortSignal.any([context.urgent, over.signal]) };
}

/** For the one that is started in the background. */
const flagsOf = ({ grace, no_server, no_warden }: Given) => [
  ...(no_server ? ["--no-server"] : []),
  ...(no_warden ? ["--no-warden"] : []),
  ...(grace === undefined ? [] : [`--grace=${grace}`]),
];

type Given = z.output<typeof input>;
type Mode = { of: "agents" } | { of: "crew"; crew: CrewChoice } | { of: "fleet"; place: RunPlace };

/** Agents where a file of them is meant; else the fleet of the run that is meant; else a crew. */
async function modeFor(context: Context, given: Given): Promise<Mode> {
  if (given.config !== undefined) return { of: "agents" };
  const place = await runMeant(context);
  const hasAgents = existsSync(join(context.here.cwd, "agents.toml"));
  // By viv.toml, or for this call; `.viv-run` alone is about other commands.
  const named = [place?.config?.file, "--run", "VIV_RUN"];
  const isNamed = place !== null && named.includes(place.from);
  if (hasAgents && (given.drain || !isNamed || (await isPitToMake(context, place.path)))) {
    return { of: "agents" };
  }
  if (place !== null) {
    if (!given.drain) return { of: "fleet", place };
    const message = "--drain is for the agents of a pit; for a run there is: viv work --drain";
    throw new VivError("USAGE", message);
  }
  const crew = await chooseFromSurroundings(context);
  if (crew === null) throw new VivError("INVALID", nothingToRun(context.here.config?.file));
  if (!given.drain) return { of: "crew", crew };
  throw new VivError("USAGE", "--drain is for the agents of a pit; a crew never drains.");
}

/** A run made there would be in the way of the agents' pit, which they ask for. */
async function isPitToMake({ here, use }: Context, path: string): Promise<boolean> {
  return (
    !isRun(path) && (await readAgents("agents.toml", here, await use(upPort))).pit.path === path
  );
}

function nothingToRun(file: string | undefined): string {
  const first =
    file === undefined
      ? "there is no viv.toml here; make one with: viv init --template fleet"
      : `${file} names no run; write run = ".viv/fleet" into it, and make it with: viv init`;
  return `${first}\nwithout a run: agents of a pit are in agents.toml, or -c FILE; a crew: viv crew up crew.org (or WB_CREW_DEF, or [crew] in viv.toml)`;
}

/** Null where no run is meant. */
async function runMeant(context: Context): Promise<RunPlace | null> {
  try {
    return await context.use(runPlacePort);
  } catch (error) {
    if (isVivError(error, "USAGE")) return null;
    throw error;
  }
}

function refuseFleetFlags({ detach, no_server, drain }: Given, { of }: Mode): void {
  if (detach && drain) {
    throw new VivError("USAGE", "--drain ends by itself; it does not go with --detach.");
  }
  const flag = detach && of === "crew" ? "--detach" : no_server ? "--no-server" : null;
  if (flag === null) return;
  const todo = 'write run = "…" into viv.toml, or make a run: viv init';
  throw new VivError("USAGE", `${flag} is for the fleet of a run; ${todo}`);
}

/** Runs a warden beside `act`. Where another process is the warden of that folder, that one serves. */
async function besideWarden<T>(
  context: Context,
  { no_warden }: Given,
  emit: (event: Emitted) => void,
  act: () => Promise<T>,
): Promise<T> {
  if (no_warden || context.here.config?.section(wardenSection) === undefined) return act();
  const stop = new AbortController();
  const keep = async () => {
    const events = wardenUp.stream({ ...context, signal: stop.signal }, {});
    for await (const event of events) emit({ of: "warden", event });
  };
  const kept = keep().catch((error: unknown) => {
    const why = messageOf(error);
    emit({ of: "notice", message: `without a warden of its own: ${why}` });
  });
  try {
    return await act();
  } finally {
    stop.abort();
    await kept;
  }
}

const upCommand: Command = {
  op: up,
  shorts: { config: "c" },
  flags: UNTIL_STDIN_CLOSES,
  exit: ({ failed = [] }: Output, _io, input) => (failed.length > 0 && !input.exit_zero ? 1 : 0),
  examples: [
    ["viv up", "what viv.toml declares; Ctrl-C lets it finish, a second one stops at once"],
    ["viv up --detach", "in the background; then: viv ps, viv down"],
    ["viv up --json --no-server", "events, one object per line; without the page"],
    ["viv up --grace 10m", "after a stop begun work has ten minutes"],
    [
      "viv up -c ./pit/agents.toml",
      "only the agents of that file; with --detach in the background",
    ],
    ["viv up --drain", "agents of a pit: exit when nothing is left to do"],
    ["WB_CREW_DEF=crew.org viv up", "without a run: a crew, or the keeper of WB_KEEPER_DEF"],
  ],
  view: (term, io) => {
    const views = { fleet: upView(term), crew: crewView(term), warden: wardenView(term) };
    const fleet = fleetView(term, partViews(term, io));
    return {
      event: (emitted: Emitted) => {
        const isAnswer = emitted.of === "up" && emitted.event.kind === "detached";
        if (emitted.of === "notice" || (!term.isTerminal && !isAnswer)) return inJson(emitted, io);
        if (emitted.of === "up") return fleet.event(emitted.event);
        return views[emitted.of].event(emitted.event as never);
      },
    };
  },
  jsonView: (io) => ({ event: (emitted: Emitted) => inJson(emitted, io) }),
};

function inJson(emitted: Emitted, io: Io): string | null {
  if (emitted.of === "notice") return noticed(emitted.message, io.stderr);
  return emitted.of === "up" ? asLine(emitted.event) : JSON.stringify(emitted.event);
}

/** How each room shows the events of its own command. */
function partViews(term: Term, io: Io): PartViews {
  // biome-ignore lint/suspicious/noExplicitAny: each view knows the events of its own room
  const views: Partial<Record<PartKind, { event(event: any): string | null }>> = {
    worker: workCommands.work.view?.(term, io, {} as Context, {}),
    crew: crewView(term),
    warden: wardenView(term),
    agents: upView(term),
  };
  return (kind, event) => views[kind]?.event(event) ?? null;
}

function noticed(message: string, to: { write(text: string): unknown }): null {
  to.write(`viv: ${plain(message)}\n`);
  return null;
}

export const commands = { up: upCommand };
