import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { text } from "../../operation/fields.ts";
import { defineOperation } from "../../operation/operation.ts";
import { askingOf, assertOk } from "./ask.ts";

export const crewState = text("the crew's state folder (default: the nearest .crew)");
export const memberName = z.string().check(z.describe("the member"));

export const crewPause = defineOperation({
  name: "crew pause",
  summary: "let a member rest until it is resumed; a run that is under way may finish",
  input: z.strictObject({ name: memberName, state: crewState }),
  output: z.object({ name: z.string(), state: z.string() }),
  run: (context, given) => setPaused(context, given, true),
});

export const crewResume = defineOperation({
  name: "crew resume",
  summary: "let a paused or parked member go on, by its clock",
  input: z.strictObject({ name: memberName, state: crewState }),
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

export const crewStop = defineOperation({
  name: "crew stop",
  summary: "stop a crew: runs that are under way may finish",
  input: z.strictObject({ state: crewState }),
  output: z.object({ stopped: z.boolean() }),
  async run(context, given) {
    const { ask } = await askingOf(context, given.state);
    if (!ask) return { stopped: false };
    assertOk(await ask({ cmd: "stop" }));
    return { stopped: true };
  },
});
