import * as z from "zod/mini";
import { flag } from "../../operation/fields.ts";
import type { Nothing } from "../../operation/operation.ts";
import { defineRunStream, type RunContext } from "../../queue/operation.ts";
import type { Change, Counts } from "../../queue/store.ts";
import { WORK_SITE } from "../../work/site.ts";

export type WatchEvent = Change | { kind: "counts"; counts: Counts };

export const watch = defineRunStream({
  name: "watch",
  summary: "changes as they happen, until Ctrl-C",
  access: "read",
  input: z.strictObject({ until_idle: flag("stop when nothing is left to do") }),
  event: z.looseObject({
    kind: z.enum(["counts", "task", "ledger", "missed"]),
  }) as never as z.ZodMiniType<WatchEvent>,
  output: z.object({}),
  async *stream(context, { until_idle }) {
    const stop = new AbortController();
    const signal = AbortSignal.any([context.signal, stop.signal]);
    const changes = context.store.watch({ signal })[Symbol.asyncIterator]();
    // The watch stands before the first look, so that nothing falls between the two.
    let next = changes.next();
    yield { kind: "counts" as const, counts: await context.store.counts() };
    if (until_idle && (await isIdle(context))) stop.abort();
    for (;;) {
      const { value: change, done } = await next;
      if (done) return {} as Nothing;
      next = changes.next();
      yield change;
      if (until_idle && change.kind === "task" && (await isIdle(context))) stop.abort();
    }
  },
});

async function isIdle({ store }: RunContext): Promise<boolean> {
  const counts = await store.counts();
  if (counts.pending + counts.claimed + counts.waiting > 0) return false;
  // What a snake says it has done comes back if it is not borne out.
  return (await store.extension(WORK_SITE)?.hasUnprovenResults()) !== true;
}
