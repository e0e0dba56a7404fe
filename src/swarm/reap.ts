import type { Verb } from "./command.ts";
import { withRun } from "./open.ts";
import { dumps, Float } from "./python.ts";

const DEFAULT_STALE_AFTER = 300n;

/** Prints what went back to pending/. What went elsewhere instead is a note on stderr. */
export const reap: Verb = (values, around) =>
  withRun(values, around, async (store) => {
    const staleAfter = values.whole("--stale-after", DEFAULT_STALE_AFTER);
    const report = await store.reap({
      staleAfterSeconds: Number(staleAfter),
      heartbeatOnly: true,
    });
    const returned = report.reaped.filter(({ to }) => to === "pending");
    const result = {
      run_dir: store.location,
      stale_after_seconds: staleAfter,
      reaped_count: returned.length,
      reaped: returned.map(({ worker, id, ageSeconds }) => ({
        worker_id: worker,
        task_id: id,
        age_seconds: new Float(ageSeconds),
      })),
      skipped_live: report.live,
    };
    around.stdout.write(`${dumps(result, "indented")}\n`);
    for (const { id, worker, to, reason } of report.reaped) {
      if (to === "pending") continue;
      const why = reason === "finished" ? `${worker} had finished it` : "it keeps losing workers";
      around.stderr.write(`note: ${id} went to ${to}/: ${why}\n`);
    }
    for (const { id, worker, pids } of report.stuck) {
      const which = pids.join(", ");
      around.stderr.write(`note: ${id} stays with ${worker}: processes would not die: ${which}\n`);
    }
    return 0;
  });
