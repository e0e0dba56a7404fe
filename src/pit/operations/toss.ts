import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { flag, list, text } from "../../operation/fields.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import { taskState } from "../../queue/schemas.ts";
import { PRIORITIES } from "../../queue/task.ts";

export const pitToss = defineRunOperation({
  name: "pit toss",
  summary: "toss food into a pit: something to do, for whichever snake comes first",
  access: "write",
  layout: "pit",
  input: z.strictObject({
    pit: text("the pit (default: as --run)"),
    task: list("what to do, in words"),
    done_when: text("the command that proves it, run in the pit"),
    by: text("who tosses it (default: the snake that runs this, or $USER)"),
    part_of: text("the food it was cut from (default: the one that is being digested)"),
    for: text("who is to take it: keeper, planner, or a type of your own"),
    too_big: flag("for the planner, to be cut into pieces"),
    after: list("food that must be done first"),
    priority: z.optional(z.enum(PRIORITIES).check(z.describe("high, normal (default) or low"))),
    not_before: text("not before this time, like +10m"),
    review: flag("a person must approve the result"),
    max_attempts: z.optional(
      z.int().check(z.gte(1), z.lte(1000)).check(z.describe("tries before it rests (default 20)")),
    ),
    timeout: text("time limit of one attempt"),
  }),
  output: z.object({
    id: z.string(),
    state: taskState,
    path: z.string(),
    warnings: z.optional(z.array(z.string())),
  }),
  async run(context, given) {
    const { pit, task = [], for: whom, too_big, by, part_of, after, ...rest } = given;
    // One word alone is the task: the pit is known from --run, VIV_RUN or the folder.
    const words = (task.length === 0 && pit !== undefined ? [pit] : task).join(" ").trim();
    if (words === "" || (task.length === 0 && /^[.~]?\.?(\/|$)/.test(words))) {
      throw new VivError("USAGE", 'say what to do: viv pit toss PIT "what to do"');
    }
    if (too_big && whom !== undefined && whom !== "planner") {
      throw new VivError("USAGE", `--too-big is for the planner, --for says ${whom}; choose one.`);
    }
    const eater = eaterOf(context);
    const parent = part_of ?? eater?.food;
    const { id, state, warnings } = await context.store.enqueue({
      ...rest,
      type: whom ?? (too_big ? "planner" : "food"),
      payload: { task: words },
      created_by: by ?? eater?.snake ?? context.here.env.USER ?? "keeper",
      ...(parent ? { parent } : {}),
      ...(after ? { depends_on: after } : {}),
    });
    const folder = state === "waiting" ? "resting/later" : "food";
    const path = `${context.store.folder}/${folder}/${id}.md`;
    return { id, state: state as "pending", path, ...(warnings ? { warnings } : {}) };
  },
});

/** The snake that runs this, and what it is digesting: a handler's environment says so. */
function eaterOf({ here, store }: RunContext): { snake: string; food: string } | null {
  const { VIV_RUN, VIV_WORKER_ID: snake, VIV_TASK_ID: food } = here.env;
  return VIV_RUN === store.location && snake && food ? { snake, food } : null;
}
