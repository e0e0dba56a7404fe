import * as z from "zod/mini";
import { parseOptionalDuration } from "../../base/duration.ts";
import { messageOf } from "../../base/errors.ts";
import { by, duration, flag, note } from "../../operation/fields.ts";
import { definePort } from "../../operation/operation.ts";
import { defineRunOperation } from "../operation.ts";
import { finding, pause, taskState } from "../schemas.ts";
import type { RunCheck, Store, SweepReport } from "../store.ts";

export const init = defineRunOperation({
  name: "init",
  summary: "create a run directory",
  access: "create",
  input: z.strictObject({}),
  output: z.object({ run_id: z.string(), run_dir: z.string() }),
  async run({ store }) {
    return { run_id: store.runId, run_dir: store.location };
  },
});

export const pauseOperation = defineRunOperation({
  name: "pause",
  summary: "claim nothing more in this run; running tasks end as usual",
  access: "write",
  input: z.strictObject({ by, note }),
  output: z.object({ paused: pause, running: z.number() }),
  async run({ store }, { by, note }) {
    const paused = await store.pause({ by, note });
    return { paused, running: (await store.counts()).claimed };
  },
});

export const resume = defineRunOperation({
  name: "resume",
  summary: "let a paused run go on",
  access: "write",
  input: z.strictObject({ by }),
  output: z.object({ was: z.nullable(pause) }),
  async run({ store }, { by }) {
    return { was: await store.resume({ by }) };
  },
});

export const reap = defineRunOperation({
  name: "reap",
  summary: "release the claims of dead workers",
  access: "write",
  input: z.strictObject({
    stale_after: duration("silence until a worker counts as dead (default: 5m)"),
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
    const staleAfter = parseOptionalDuration(stale_after, "--stale-after");
    const report = await store.reap({ staleAfterSeconds: staleAfter && staleAfter / 1000 });
    const reaped = report.reaped.map(({ ageSeconds: age_seconds, ...rest }) => ({
      ...rest,
      age_seconds,
    }));
    const { warnings: more = [], ...swept } = await sweepAfter(store);
    const warnings = [...(report.warnings ?? []), ...more];
    return { ...report, reaped, ...swept, warnings: warnings.length > 0 ? warnings : undefined };
  },
});

/** Claims are reaped even if the sweep fails. */
async function sweepAfter(store: Store): Promise<SweepReport> {
  try {
    return await store.sweep({ thorough: true });
  } catch (error) {
    const why = messageOf(error);
    const warnings = [`the run was not swept; the next reap does (${why.replace(/\.$/, "")})`];
    return { promoted: 0, adopted: 0, recovered: 0, warnings };
  }
}

/** What rooms above this one check in a run. */
export const runChecksPort = definePort<(store: Store) => RunCheck>("run checks");

export const doctor = defineRunOperation({
  name: "doctor",
  summary: "check every invariant of the run; --fix repairs it",
  access: "write",
  input: z.strictObject({ fix: flag("repair the findings; never deletes work") }),
  changes: ({ fix }) => fix === true,
  output: z.object({
    healthy: z.boolean(),
    findings: z.array(finding),
    checked: z.record(z.string(), z.number()),
  }),
  async run({ store, use }, { fix }) {
    const checksOf = await use(runChecksPort);
    const report = await store.doctor({ fix: fix === true, more: checksOf(store) });
    // Readers skip a torn line: there is nothing to repair.
    const healthy = report.findings.every(({ fixed, code }) => fixed || code === "torn_line");
    return { healthy, ...report };
  },
});
