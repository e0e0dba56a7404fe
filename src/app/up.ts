import * as z from "zod/mini";
import { messageOf, VivError } from "../base/errors.ts";
import { chooseFromSurroundings } from "../crew/choose.ts";
import { crewView } from "../crew/cli.ts";
import type { CrewEvent } from "../crew/crew-ports.ts";
import { crewStream } from "../crew/operations.ts";
import { upView } from "../fleet/cli.ts";
import { upInput, upStream } from "../fleet/operations.ts";
import type { UpEvent } from "../fleet/up-ports.ts";
import type { Command } from "../operation/command.ts";
import { type Context, defineStream, eventsOf, type Stamped } from "../operation/operation.ts";
import { plain } from "../operation/term.ts";
import { wardenView } from "../warden/cli/warden.ts";
import { wardenSection } from "../warden/config.ts";
import { wardenUp } from "../warden/operations/warden.ts";
import type { WardenEvent } from "../warden/warden-host.ts";
import { failedSince } from "../work/failed-since.ts";
import { openRun } from "./open-run.ts";

/** `viv up`: agents around a pit, or a crew; and beside them the warden of `[warden]`. */

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
  /** The warden has ended, or never began. */
  | { of: "notice"; message: string };

/** Food that got stuck while it drained. */
const output = z.object({ failed: z.optional(z.array(z.string())) });
type Output = z.output<typeof output>;

const up = defineStream({
  name: "up",
  summary: "run the agents of an agents.toml around their pit, and restart those that die",
  input: upInput,
  event: z.looseObject({ of: z.string() }) as unknown as z.ZodMiniType<Emitted>,
  output,
  drains: true,
  async *stream(context, given) {
    const crew = given.config === undefined ? await chooseFromSurroundings(context) : null;
    if (crew !== null && given.drain) {
      throw new VivError("USAGE", "--drain is for the agents of a pit; a crew never drains.");
    }
    const begin = new Date(context.now()).toISOString();
    return yield* eventsOf<Emitted, Output>((emit) =>
      besideWarden(context, emit, async () => {
        if (crew !== null) {
          for await (const event of crewStream(context, crew)) emit({ of: "crew", event });
          return {};
        }
        let pit: string | undefined;
        for await (const event of upStream(context, given)) {
          if (event.kind === "up") pit = event.pit;
          emit({ of: "fleet", event });
        }
        return given.drain && pit !== undefined ? { failed: await failedIn(pit, begin) } : {};
      }),
    );
  },
});

/** Runs a warden beside `act`. Where another process is the warden of that folder, that one serves. */
async function besideWarden<T>(
  context: Context,
  emit: (event: Emitted) => void,
  act: () => Promise<T>,
): Promise<T> {
  if (context.here.config?.section(wardenSection) === undefined) return act();
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
  exit: ({ failed = [] }: Output, _io, input) => (failed.length > 0 && !input.exit_zero ? 1 : 0),
  examples: [
    ["viv up", "the agents of ./agents.toml; Ctrl-C lets them finish, a second one stops at once"],
    ["viv up -c ./pit/agents.toml --json", "events, one object per line"],
    ["WB_CREW_DEF=crew.org viv up", "without agents.toml: a crew, or the keeper of WB_KEEPER_DEF"],
    ["viv up --drain", "exit when nothing is left to do"],
    ["viv status --config agents.toml", "from another terminal: the state of each agent"],
  ],
  view: (term, io) => {
    const views = { fleet: upView(term), crew: crewView(term), warden: wardenView(term) };
    return {
      event: (emitted: Emitted) =>
        emitted.of === "notice"
          ? noticed(emitted.message, io.stderr)
          : views[emitted.of].event(emitted.event as never),
    };
  },
  jsonView: (io) => ({
    event: (emitted: Emitted) =>
      emitted.of === "notice" ? noticed(emitted.message, io.stderr) : JSON.stringify(emitted.event),
  }),
};

function noticed(message: string, to: { write(text: string): unknown }): null {
  to.write(`viv: ${plain(message)}\n`);
  return null;
}

export const commands = { up: upCommand };
