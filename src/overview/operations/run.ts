import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { parseUserJson } from "../../base/user-json.ts";
import { accountsInUse, closedAccounts } from "../../engines/accounts/in-use.ts";
import { accountState } from "../../engines/accounts/schema.ts";
import { flag, text } from "../../operation/fields.ts";
import type { Nothing } from "../../operation/operation.ts";
import { defineRunOperation, defineRunStream, type RunContext } from "../../queue/operation.ts";
import { counts, taskFile } from "../../queue/schemas.ts";
import type { Change, Counts } from "../../queue/store.ts";
import { WORK_SITE } from "../../work/host.ts";

export const status = defineRunOperation({
  name: "status",
  summary: "the run's checkpoint, its counts and workers; or write a new checkpoint",
  access: "write",
  input: z.strictObject({
    summary: text("progress so far"),
    next_step: text("next step"),
    next_task_id: z.optional(z.string().check(z.describe('next task; "" for none'))),
    risk: text("known risk"),
    metadata: text("a JSON object, merged into the metadata"),
  }),
  output: z.object({
    run_id: z.string(),
    run_dir: z.string(),
    counts,
    workers: z.array(taskFile),
    closed_accounts: z.optional(z.array(accountState)),
    status: z.nullable(taskFile),
  }),
  async run(context, { metadata, next_task_id, ...fields }) {
    const { store } = context;
    const update = {
      ...fields,
      next_task_id: next_task_id === "" ? null : next_task_id,
      metadata: metadata === undefined ? undefined : objectFrom(metadata),
    };
    const given = Object.fromEntries(Object.entries(update).filter(([, v]) => v !== undefined));
    if (Object.keys(given).length > 0) await store.writeStatus(given);
    return {
      run_id: store.runId,
      run_dir: store.location,
      counts: await store.counts(),
      workers: (await store.workers()).map(({ heartbeatAge, ...w }) => ({
        ...w,
        heartbeat_age: heartbeatAge,
      })),
      ...closedAccounts(await accountsInUse(context)),
      status: await store.readStatus(),
    };
  },
});

function objectFrom(text: string): Record<string, unknown> {
  const value = parseUserJson(text, "metadata");
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new VivError("INVALID", "metadata must be a JSON object.");
}

export type WatchEvent = Change | { kind: "counts"; counts: Counts };

export const watch = defineRunStream({
  name: "watch",
  summary: "changes as they happen, until Ctrl-C",
  access: "read",
  input: z.strictObject({ until_idle: flag("exit when nothing is left to do") }),
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
