import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { defineFreeOp } from "../../operation/op.ts";

const text = (describe: string) => z.optional(z.string().check(z.describe(describe)));

const input = z.strictObject({
  manifest: text("the crew's manifest, org or TOML (default: WB_CREW_DEF, or [crew] in viv.toml)"),
  grace: text("how long nobody ticks after the start (default 60s)"),
  stagger: text("how much later each member ticks than the one before (default 30s)"),
  max_concurrent: z.optional(
    z.int().check(z.gte(1)).check(z.describe("runs at a time (default 2)")),
  ),
  port: z.optional(
    z.int().check(z.gte(0), z.lte(65535)).check(z.describe("serve /_activity there; 0: any port")),
  ),
  state: text("where its state is kept (default .crew beside the manifest)"),
});

export type CrewUpInput = z.output<typeof input>;

export const crewUp = defineFreeOp({
  name: "crew up",
  summary: "start the standing agents of a manifest, each on its own clock, through one gate",
  access: "none",
  input,
  output: z.object({}),
  run: async () => {
    throw new VivError("UNSUPPORTED", "a crew is started with the command line: viv crew up");
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
  continuous: z.optional(
    z.boolean().check(z.describe("a breather of 45s after each run, instead of the interval")),
  ),
  port: z.optional(
    z.int().check(z.gte(0), z.lte(65535)).check(z.describe("serve /_activity there; 0: any port")),
  ),
  state: text("where its state is kept (default .crew beside the def)"),
});

export type KeeperUpInput = z.output<typeof keeperInput>;

export const keeperUp = defineFreeOp({
  name: "keeper up",
  summary: "start one standing agent, alone: no gate, and state files without a suffix",
  access: "none",
  input: keeperInput,
  output: z.object({}),
  run: async () => {
    throw new VivError("UNSUPPORTED", "a keeper is started with the command line: viv keeper up");
  },
});
