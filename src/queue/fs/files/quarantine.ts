import { basename, relative } from "node:path";
import { canonicalJson } from "../../../base/json.ts";
import { idOfLink } from "../layout.ts";
import { type FsRun, nowIso, record } from "../run.ts";
import { moveAside } from "./aside.ts";
import { translate } from "./atomic.ts";

/**
 * Moves what cannot be used out of the way, whole, with the reason beside it. Nothing is deleted
 * and nothing is skipped in silence. False when it was gone already, or when `inode` says which
 * file was meant and another has taken its place: then that one is put back.
 */
export function quarantine(run: FsRun, path: string, reason: string, inode?: number): boolean {
  const from = relative(run.paths.root, path);
  const note = `${canonicalJson({ at: nowIso(run), from, reason })}\n`;
  try {
    if (!moveAside(run.paths.quarantine, path, note, inode)) return false;
  } catch (error) {
    throw translate(error, `moving ${from} to quarantine`);
  }
  const id = idOfLink(run.paths, basename(path)) ?? undefined;
  record(run, { event: "quarantined", task: id, path: from, note: reason });
  return true;
}
