import { basename, dirname, join } from "node:path";
import { isRecord, parseRecord } from "../base/json.ts";
import { replaceFileSynced } from "../platform/files/atomic-write.ts";
import { readSmall } from "../platform/files/state-files.ts";
import { statIfThere } from "./day-files.ts";
import { parseHead, type SealHead } from "./seal-head.ts";

/**
 * What the `.viv/` of a run remembers of its ledger, so that the loss of the ledger, or of all its
 * seals, shows. Both files are derived and may be lost; then they say nothing.
 *
 * - `ledger-head.json`: a copy of `head.json`, written by the sealer after it.
 * - `projection.json`: the queue's; its `read` has the daily files that it has read lines of.
 *
 * The ledgers of a crew and of the warden have no such folder.
 */
const COPY = "ledger-head.json";
const LONGEST_PROJECTION = 16 * 1024 * 1024;

/** Null when there is none. A pit has its ledger in `record/`. */
function derivedFolder(ledger: string): string | null {
  const parent = dirname(ledger);
  const runs = basename(parent) === "record" ? [parent, dirname(parent)] : [parent];
  const folders = runs.map((run) => join(run, ".viv"));
  return folders.find((folder) => statIfThere(folder)?.isDirectory()) ?? null;
}

export function readHeadCopy(ledger: string): SealHead | null {
  const folder = derivedFolder(ledger);
  return folder === null ? null : parseHead(readSmall(join(folder, COPY), 4096));
}

export function copyHead(ledger: string, text: string): void {
  const folder = derivedFolder(ledger);
  if (folder === null) return;
  try {
    replaceFileSynced(join(folder, COPY), text, { temporary: join(folder, `.${COPY}.new`) });
  } catch {
    // The head itself is written; an older copy says less, and nothing wrong.
  }
}

/** The days of which there was a file with lines. */
export function daysKnown(ledger: string): string[] {
  const folder = derivedFolder(ledger);
  if (folder === null) return [];
  const { read } =
    parseRecord(readSmall(join(folder, "projection.json"), LONGEST_PROJECTION)) ?? {};
  if (!isRecord(read)) return [];
  return Object.entries(read).flatMap(([file, bytes]) => {
    const [, day] = /^(\d{4}-\d{2}-\d{2})\.jsonl$/.exec(file) ?? [];
    return day !== undefined && Number(bytes) > 0 ? [day] : [];
  });
}
