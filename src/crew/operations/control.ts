import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { defineFreeOp } from "../../operation/op.ts";
import { askingOf, assertOk } from "./ask.ts";

const state = z.optional(
  z.string().check(z.describe("the crew's state folder (default: the nearest .crew)")),
);
const name = z.string().check(z.describe("the member"));

export const crewPause = defineFreeOp({
  name: "crew pause",
  summary: "let a member rest until it is resumed; a run that is under way may finish",
  access: "none",
  input: z.strictObject({ name, state }),
  output: z.object({ name: z.string(), state: z.string() }),
  run: (context, given) => setPaused(context, given, true),
});

export const crewResume = defineFreeOp({
  name: "crew resume",
  summary: "let a paused or parked member go on, by its clock",
  access: "none",
  input: z.strictObject({ name, state }),
  output: z.object({ name: z.string(), state: z.string() }),
  run: (context, given) => setPaused(context, given, false),
});

/** Without a crew that runs, the file alone says it: whoever starts next heeds it. */
async function setPaused(
  context: Parameters<typeof askingOf>[0],
  given: { name: string; state?: string | undefined },
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

export const crewStop = defineFreeOp({
  name: "crew stop",
  summary: "stop a crew: runs that are under way may finish",
  access: "none",
  input: z.strictObject({ state }),
  output: z.object({ stopped: z.boolean() }),
  async run(context, given) {
    const { ask } = await askingOf(context, given.state);
    if (!ask) return { stopped: false };
    assertOk(await ask({ cmd: "stop" }));
    return { stopped: true };
  },
});

export const crewTick = defineFreeOp({
  name: "crew tick",
  summary: "one tick of one member now, whatever its clock says",
  access: "none",
  input: z.strictObject({
    name,
    state,
  }),
  output: z.object({ name: z.string(), outcome: z.nullable(z.string()), note: z.string() }),
  async run(context, given) {
    const { ask } = await askingOf(context, given.state);
    if (!ask) {
      throw new VivError("WRONG_STATE", "no crew runs here; start it: viv crew up");
    }
    const answer = assertOk(await ask({ cmd: "tick", name: given.name }));
    return { name: given.name, outcome: answer.outcome ?? null, note: answer.note ?? "" };
  },
});
