import type { JsonTree } from "./json.ts";
import { dumps } from "./python.ts";
import type { RunSummary } from "./summarize-run.ts";

const DIM = "2";

/** A run in a few lines of text. Counts of zero are dim. */
export function renderRun(run: RunSummary, inColor: boolean): string {
  const paint = (code: string, text: string) => (inColor ? `\x1b[${code}m${text}\x1b[0m` : text);
  const count = (name: string, n: number, code: string) =>
    paint(n > 0 ? code : DIM, `${name}=${n}`);
  const claimed = [...run.claimed_by_worker.values()].reduce((sum, n) => sum + n, 0);
  const lines = [
    `${paint("1;36", plain(run.run_id))}  ${plain(run.run_dir)}`,
    `  ${[
      count("pending", run.pending, "33"),
      count("claimed", claimed, "34"),
      count("done", run.done, "32"),
      count("failed", run.failed, "31"),
    ].join("  ")}`,
  ];
  for (const [worker, n] of run.claimed_by_worker) {
    lines.push(`    in flight: ${plain(worker)} (${n})`);
  }
  if (run.next_task_id) {
    const step = run.next_step === null ? "" : plain(run.next_step);
    lines.push(`  next: ${paint("36", plain(run.next_task_id))}  ${step}`);
  } else if (run.next_step) {
    lines.push(`  next: ${plain(run.next_step)}`);
  }
  if (run.last_completed) {
    lines.push(`  last completed: ${plain(run.last_completed)}  (${run.completed_count} total)`);
  }
  return lines.join("\n");
}

/** What an agent wrote goes to a terminal without the codes that would command it. */
function plain(value: JsonTree): string {
  const text = typeof value === "string" ? value : dumps(value);
  // Cf: what turns the direction of a line around, or is not seen.
  return text.replace(/[^\P{Cc}\n\t]|\p{Cf}|[\u2028\u2029]/gu, "");
}
