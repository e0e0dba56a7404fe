import { setImmediate } from "node:timers/promises";
import { linesBackFrom } from "../../ledger/back.ts";
import { followLedgers } from "../../ledger/follow.ts";

/** So many lines are looked at: a tenth of a second. */
const MOST_LINES = 100_000;
const TURN_LINES = 5_000;

/** The tasks that came to done last, by the end of the run's ledger; at most `count`. */
export async function newestDone(ledgerFolder: string, count: number): Promise<Set<string>> {
  const ids = new Set<string>();
  const sources = [{ name: "run", folder: ledgerFolder, room: "queue" }];
  const to = followLedgers(sources).position();
  let lines = 0;
  const mayMatch = (text: string) => text.includes('"done"');
  for (const line of linesBackFrom(sources, { to, mayMatch })) {
    if (line?.to === "done" && typeof line.task === "string") ids.add(line.task);
    if (ids.size >= count || ++lines >= MOST_LINES) break;
    if (lines % TURN_LINES === 0) await setImmediate();
  }
  return ids;
}
