import * as z from "zod/mini";
import { flag } from "../../operation/fields.ts";
import { defineRunStream } from "../../queue/operation.ts";
import { topPort } from "./host.ts";
import { TopReader } from "./read.ts";
import { snapshot } from "./snapshot.ts";

/** On a terminal a view that a person works with, without events; elsewhere one event. */
export const top = defineRunStream({
  name: "top",
  summary: "the run, live: tasks, workers, gate, cost",
  access: "write",
  changes: ({ once }) => once !== true,
  input: z.strictObject({ once: flag("do it once and exit (one frame, as always in a pipe)") }),
  event: snapshot,
  output: z.object({}),
  async *stream(context, { once }) {
    const host = await context.use(topPort);
    const screen = once ? null : host.screen(context.here.env);
    if (screen === null) {
      const wish = { tab: "tasks", visible: [], isTree: false } as const;
      yield await new TopReader(context, host).read(wish);
      return {};
    }
    const { live } = await import("./live.ts");
    await live(context, host, screen);
    return {};
  },
});
