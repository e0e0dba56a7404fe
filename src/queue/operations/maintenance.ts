import * as z from "zod/mini";
import { parseOptionalDuration } from "../../base/duration.ts";
import { messageOf, VivError } from "../../base/errors.ts";
import { by, duration, flag, note, text } from "../../operation/fields.ts";
import { definePort } from "../../operation/operation.ts";
import { defineRunOperation } from "../operation.ts";
import { finding, pause, taskState } from "../schemas.ts";
import type { RunCheck, Store, SweepReport, WorkerView } from "../store.ts";

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
  summary: "claim nothing more in this run, or by one worker; running tasks end as usual",
  access: "write",
  input: z.strictObject({ worker: text("name of a worker (default: the whole run)"), by, note }),
  output: z.object({ worker: z.nullable(z.string()), paused: pause, running: z.number() }),
  async run({ store }, { worker, by, note }) {
    if (worker === undefined) {
      const paused = await store.pause({ by, note });
      return { worker: null, paused, running: (await store.counts()).claimed };
    }
    const found = await workerNamed(store, worker);
    const paused = await store.pause({ worker, by, note });
    return { worker, paused, running: found.claims.length };
  },
});

/** A mistyped name would pause nothing. */
async function workerNamed(store: Store, name: string): Promise<WorkerView> {
  const workers = await store.workers();
  const found = workers.find((one) => one.name === name);
  if (found !== undefined) return found;
  const names = workers.map((one) => one.name);
  const known = names.length > 0 ? `there are: ${names.join(", ")}` : "there is none yet";
  throw new VivError("TARGET_NOT_FOUND", `no worker ${name} is known in this run; ${known}.`, {
    worker: name,
  });
}

export const resume = defineRunOperation({
  name: "resume",
  summary: "let a paused run, or one paused worker, go on",
  access: "write",
  input: z.strictObject({ worker: text("name of a worker (default: the whole run)"), by }),
  output: z.object({ worker: z.nullable(z.string()), was: z.nullable(pause) }),
  async run({ store }, { worker, by }) {
    if (worker !== undefined) await workerNamed(store, worker);
    return { worker: worker ?? null, was: await store.resume({ worker, by }) };
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
