import * as z from "zod/mini";
import { parseDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import { text } from "../../operation/fields.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import { workerHostPort } from "../../work/host.ts";
import { proveResults, provingFor } from "../prove-results.ts";
import { reclaimStuck } from "../reclaim-stuck.ts";
import { pitOf } from "../store.ts";
import { tidyWaste } from "../tidy-waste.ts";
import { snakeOfWaste } from "../waste.ts";
import { wasteFiles } from "../waste-files.ts";

export const pitSweep = defineRunOperation({
  name: "pit sweep",
  summary: "cleanup duty, once: reclaim abandoned food, prove results, sum up and prune waste/",
  access: "write",
  layout: "pit",
  input: z.strictObject({
    pit: text("the pit (default: as --run)"),
    stale_after: text("when a silent snake's food goes back (default 30m)"),
    keep_logs: text("how old a log may get (default 7d)"),
  }),
  output: z.object({
    reclaimed: z.array(z.object({ food: z.string(), snake: z.string(), to: z.string() })),
    proven: z.array(z.string()),
    unproven: z.array(
      z.object({ food: z.string(), result: z.nullable(z.string()), note: z.string() }),
    ),
    adopted: z.number(),
    logs: z.number(),
    pruned: z.array(z.string()),
    kept: z.array(z.string()),
    trouble: z.optional(z.string()),
  }),
  async run(context, { stale_after, keep_logs }) {
    const { store } = context;
    const pit = pitOf(store);
    if (pit === null) throw new VivError("RUN_INVALID", "this is not a pit.");
    const staleAfterSeconds = stale_after === undefined ? undefined : seconds(stale_after);
    const keepMs = parseDuration(keep_logs ?? "7d", "--keep-logs");
    const report = await store.reap(staleAfterSeconds === undefined ? {} : { staleAfterSeconds });
    const { adopted } = await store.sweep();
    const host = await context.use(workerHostPort);
    const limitMs = (staleAfterSeconds ?? DEFAULT_STALE_AFTER_SECONDS) * 1000;
    const stuck = await reclaimStuck(store, host, { now: context.now(), limitMs });
    const results = await proveResults(store, host, provingFor(store, host));
    const tidied = await pit.alone("waste", () => tidyIfPossible(context, keepMs));
    return {
      reclaimed: [...report.reaped, ...stuck].map(({ id, worker, to }) => ({
        ...{ food: id, snake: worker, to },
      })),
      proven: results.filter(({ end }) => isDone(end)).map(({ id }) => id),
      unproven: results
        .filter(({ end }) => !isDone(end))
        .map(({ id, unproven, end }) => ({
          food: id,
          result: unproven ? `done/${unproven}` : null,
          note: end.kind === "ended" ? (end.note ?? end.outcome) : "taken away",
        })),
      adopted,
      logs: tidied?.logs ?? 0,
      pruned: tidied?.pruned ?? [],
      kept: tidied?.kept ?? [],
      ...(tidied === null ? { trouble: "another sweep is tidying waste/ just now" } : {}),
      ...(tidied?.trouble ? { trouble: tidied.trouble } : {}),
    };
  },
});

const DEFAULT_STALE_AFTER_SECONDS = 1800;

function isDone(end: { kind: string; outcome?: string }): boolean {
  return end.kind === "ended" && end.outcome === "done";
}

async function tidyIfPossible(context: RunContext, keepMs: number) {
  try {
    return await tidy(context, keepMs);
  } catch (error) {
    const trouble = `waste/ cannot be tidied: ${(error as Error).message}`;
    return { logs: 0, pruned: [], kept: [], trouble };
  }
}

async function tidy(context: RunContext, keepMs: number) {
  const claims = new Set<string>();
  for await (const { worker } of context.store.list({ states: ["claimed"] })) {
    if (worker) claims.add(worker);
  }
  return tidyWaste(wasteFiles(context.store.location), {
    now: context.now(),
    keepMs,
    isRunning: (name) => claims.has(snakeOfWaste(name)?.snake ?? ""),
  });
}

function seconds(text: string): number {
  return parseDuration(/^\d+$/.test(text) ? `${text}s` : text, "--stale-after") / 1000;
}
