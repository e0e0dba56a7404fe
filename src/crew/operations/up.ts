import * as z from "zod/mini";
import { count, events, flag, text } from "../../operation/fields.ts";
import { type Context, defineStream, type Nothing, serve } from "../../operation/operation.ts";
import { chooseCrew } from "./choose.ts";
import { type CrewChoice, type CrewEvent, crewFor } from "./start.ts";

const input = z.strictObject({
  manifest: text("the crew's manifest, org or TOML (default: WB_CREW_DEF, or [crew] in viv.toml)"),
  grace: text("how long nobody ticks after the start (default 60s)"),
  stagger: text("how much later each member ticks than the one before (default 30s)"),
  max_concurrent: count("runs at a time (default 2)"),
  port: z.optional(
    z.int().check(z.gte(0), z.lte(65535)).check(z.describe("serve /_activity there; 0: any port")),
  ),
  state: text("where its state is kept (default .crew beside the manifest)"),
});

export type CrewUpInput = z.output<typeof input>;

export const crewUp = defineStream({
  name: "crew up",
  summary: "start the standing agents of a manifest, each on its own clock, through one gate",
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
  grace: text("how long it does not tick after the start (default 60s)"),
  interval: text("from one tick to the next (default 1h)"),
  mode: z.optional(z.enum(["plan", "edit"]).check(z.describe("plan (default) or edit"))),
  engine: text("which engine runs it (default claude; exec with --command)"),
  command: text("for exec: a shell command, the prompt on its stdin"),
  model: text("handed to the engine"),
  lifecycle: text("a spec of states that it goes through"),
  workdir: text("where it works (default: the def's folder)"),
  run_if: text("a shell command that is asked first; not 0: no tick"),
  budget_usd_day: text("dollars per UTC day"),
  continuous: flag("a breather of 45s after each run, instead of the interval"),
  port: z.optional(
    z.int().check(z.gte(0), z.lte(65535)).check(z.describe("serve /_activity there; 0: any port")),
  ),
  state: text("where its state is kept (default .crew beside the def)"),
});

export type KeeperUpInput = z.output<typeof keeperInput>;

export const keeperUp = defineStream({
  name: "keeper up",
  summary: "start one standing agent, alone: no gate, and state files without a suffix",
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
