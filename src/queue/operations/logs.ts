import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { flag, list, text } from "../../operation/fields.ts";
import { defineRunStream, mustShow } from "../operation.ts";

const receipt = z.object({ attempt: z.number(), worker: z.string(), receipt: z.string() });

/** Of one task: only `text`, as it is. Of all: lines, and attempts that begin and end. */
const event = z.object({
  event: z.optional(z.enum(["idle", "began", "line", "ended"])),
  id: z.optional(z.string()),
  worker: z.optional(z.string()),
  text: z.optional(z.string()),
  outcome: z.optional(z.string()),
  to: z.optional(z.string()),
  note: z.optional(z.string()),
});
export type LogEvent = z.output<typeof event>;

export const logs = defineRunStream({
  name: "logs",
  summary: "print the log of a task, or follow those of all workers",
  access: "read",
  input: z.strictObject({
    id: text("id of the task (with --follow: all that are being worked on)"),
    follow: flag("go on until it is stopped (of one task: until its end)"),
    worker: text("name of a worker (with --follow: only its tasks)"),
    types: list("only tasks of these types"),
    setup: flag("the log of its workspace's set-up instead"),
  }),
  event,
  output: z.object({
    /** Null: of all. */
    id: z.nullable(z.string()),
    /** Of attempts that the warden ended. */
    receipts: z.array(receipt),
  }),
  async check(_, { id, follow, worker, types, setup }) {
    const isChoosing = worker !== undefined || types !== undefined;
    if (id !== undefined && isChoosing) {
      throw new VivError("USAGE", "--worker and --types choose among all tasks: leave the id out.");
    }
    if (id !== undefined || (follow && !setup)) return;
    const one = setup ? "viv logs ID --setup" : "viv logs ID";
    const all = setup ? "" : ", or follow all that are being worked on: viv logs -f";
    throw new VivError("USAGE", `viv logs needs a task: ${one}${all}; see: viv ls`);
  },
  async *stream({ store, signal }, { id, follow, setup, worker, types }) {
    if (id === undefined) {
      const { followLogs } = await import("../follow-logs.ts");
      yield* followLogs(store, { worker, types }, signal);
      return { id: null, receipts: [] };
    }
    await mustShow(store, id);
    for await (const text of store.log(id, { follow: follow === true, setup, signal })) {
      yield { text };
    }
    const receipts = (await store.attemptsOf(id)).flatMap(({ attempt, worker, receipt: path }) =>
      path === undefined ? [] : [{ attempt, worker, receipt: path }],
    );
    return { id, receipts };
  },
});
