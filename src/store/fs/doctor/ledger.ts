import { type AttemptRecord, isAttempt } from "../../../model/attempt.ts";
import { isName } from "../../../model/names.ts";
import { appendHistory, readHistory } from "../attempts.ts";
import type { Examination } from "../doctor.ts";
import { readLedger } from "../ledger.ts";

/**
 * The attempt log is a digest of the ledger: what is missing there is copied over again. Returns
 * the ids that were enqueued by us.
 */
export function checkLedger({ run, checked, find }: Examination): Set<string> {
  const ours = new Set<string>();
  const torn = new Map<string, number>();
  const ended = new Map<string, AttemptRecord[]>();
  /** A wrong clock may have put it into a file before that of the end. */
  const voids = new Map<string, number>();
  const keyOf = (task: string, { token, outcome }: { token: string; outcome?: string }) =>
    `${task} ${token} ${outcome}`;
  for (const { line } of readLedger(run.paths.ledger, undefined, (file) =>
    torn.set(file, (torn.get(file) ?? 0) + 1),
  )) {
    checked.ledger = (checked.ledger ?? 0) + 1;
    const { task, token, outcome, to } = line;
    if (line.event === "enqueued" && isName(task)) ours.add(task);
    if (!isName(task) || token === undefined) continue;
    if (line.event === "void") {
      const key = keyOf(task, { token, ...(outcome ? { outcome } : {}) });
      voids.set(key, (voids.get(key) ?? 0) + 1);
    } else if (line.event === "ended" && outcome && to && outcome !== "done") {
      const attempt: AttemptRecord = {
        attempt: line.attempt ?? 1,
        worker: line.worker ?? "?",
        token,
        outcome,
        to,
        at: line.at,
        ...(line.note ? { note: line.note } : {}),
        ...(line.fingerprint ? { fingerprint: line.fingerprint } : {}),
        ...(line.retry_at ? { retry_at: line.retry_at } : {}),
      };
      ended.set(task, [...(ended.get(task) ?? []), attempt]);
    }
  }
  for (const [file, lines] of torn) {
    find({
      code: "torn_line",
      path: `ledger/${file}`,
      message: `${lines} unreadable ${lines === 1 ? "line" : "lines"}, as a full disk or a power loss leaves them`,
      repair: "none needed: readers pass over them",
    });
  }
  for (const [id, attempts] of ended) {
    const known = new Set(
      readHistory(run, id)
        .filter(isAttempt)
        .map((a) => a.token),
    );
    const missing = attempts.filter((one) => {
      const key = keyOf(id, one);
      const times = attempts.filter((other) => keyOf(id, other) === key).length;
      return !known.has(one.token) && times > (voids.get(key) ?? 0);
    });
    if (missing.length === 0) continue;
    find(
      {
        code: "missing_index",
        path: `.viv/attempts/${id}.jsonl`,
        message: `${missing.length} of its ended attempts are in the ledger only`,
        repair: "copy them from the ledger",
      },
      () => {
        for (const attempt of missing) appendHistory(run, id, attempt);
        return true;
      },
    );
  }
  return ours;
}
