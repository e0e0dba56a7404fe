import { missingAttempts, restoreHistory } from "../record/attempts.ts";
import { digestLedger } from "../record/digest.ts";
import type { Examination } from "./doctor.ts";

/**
 * The attempt log is a digest of the ledger: what is missing there is copied over again. Returns
 * the ids that were enqueued by us.
 */
export async function checkLedger({ run, checked, find }: Examination): Promise<Set<string>> {
  const { histories, ours, torn, lines } = digestLedger(run);
  if (lines > 0) checked.ledger = lines;
  for (const [file, count] of torn) {
    await find({
      code: "torn_line",
      path: `ledger/${file}`,
      message: `${count} unreadable ${count === 1 ? "line" : "lines"}, as a full disk or a power loss leaves them`,
      repair: "none needed: readers pass over them",
    });
  }
  for (const [id, history] of histories) {
    const missing = missingAttempts(run, id, history);
    if (missing === 0) continue;
    await find(
      {
        code: "missing_index",
        path: `.viv/attempts/${id}.jsonl`,
        message: `${missing} of its ended attempts are in the ledger only`,
        repair: "copy them from the ledger",
      },
      () => {
        restoreHistory(run, id, history);
        return true;
      },
    );
  }
  return ours;
}
