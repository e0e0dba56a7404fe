import * as z from "zod/mini";
import { defineRunOperation } from "../operation.ts";
import { taskState } from "../schemas.ts";
import type { Store, SweepReport } from "../store.ts";

export const reap = defineRunOperation({
  name: "reap",
  summary: "take back the tasks of workers that are gone",
  access: "write",
  input: z.strictObject({
    stale_after: z.optional(
      z
        .number()
        .check(z.gte(0))
        .check(z.describe("seconds without a heartbeat that count as gone (default 300)")),
    ),
  }),
  output: z.object({
    reaped: z.array(
      z.object({
        worker: z.string(),
        id: z.string(),
        age_seconds: z.number(),
        to: taskState,
        reason: z.enum(["gone", "stale", "finished"]),
      }),
    ),
    live: z.array(z.string()),
    skipped: z.array(z.object({ worker: z.string(), id: z.string() })),
    stuck: z.array(z.object({ worker: z.string(), id: z.string(), pids: z.array(z.number()) })),
    promoted: z.number(),
    adopted: z.number(),
    recovered: z.number(),
    warnings: z.optional(z.array(z.string())),
  }),
  async run({ store }, { stale_after }) {
    const report = await store.reap(
      stale_after === undefined ? {} : { staleAfterSeconds: stale_after },
    );
    const reaped = report.reaped.map(({ ageSeconds, ...rest }) => ({
      ...rest,
      age_seconds: ageSeconds,
    }));
    const { warnings: more = [], ...swept } = await sweepAfter(store);
    const warnings = [...(report.warnings ?? []), ...more];
    return { ...report, reaped, ...swept, ...(warnings.length > 0 ? { warnings } : {}) };
  },
});

/** What was reaped is reaped, whatever keeps us from the rest. */
async function sweepAfter(store: Store): Promise<SweepReport> {
  try {
    return await store.sweep({ thorough: true });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const warnings = [`the run was not swept; the next reap does (${why.replace(/\.$/, "")})`];
    return { promoted: 0, adopted: 0, recovered: 0, warnings };
  }
}
