import { existsSync } from "node:fs";
import { basename, relative } from "node:path";
import { canonicalJson } from "../../model/json.ts";
import { errno, renameIfThere, statIfThere, translate, unlinkIfThere, writeNew } from "./atomic.ts";
import { idOfLink } from "./layout.ts";
import { type FsRun, nowIso, record } from "./run.ts";

/**
 * Moves what cannot be used out of the way, whole, with the reason beside it. Nothing is deleted
 * and nothing is skipped in silence. False when it was gone already, or when `inode` says which
 * file was meant and another has taken its place: then that one is put back.
 */
export function quarantine(run: FsRun, path: string, reason: string, inode?: number): boolean {
  const from = relative(run.paths.root, path);
  const name = basename(path);
  for (let n = 0; ; n++) {
    const target = `${run.paths.quarantine}/${n === 0 ? name : `${name}.${n}`}`;
    const note = `${target}.reason`;
    if (existsSync(target) || existsSync(note)) continue;
    try {
      writeNew(note, `${canonicalJson({ at: nowIso(run), from, reason })}\n`, false);
    } catch (error) {
      if (errno(error) === "EEXIST") continue; // somebody else quarantines a file of that name
      throw translate(error, `moving ${from} to quarantine`);
    }
    if (!renameIfThere(path, target)) {
      unlinkIfThere(note);
      return false;
    }
    if (inode !== undefined && statIfThere(target)?.ino !== inode) {
      renameIfThere(target, path);
      unlinkIfThere(note);
      return false;
    }
    const id = idOfLink(run.paths, name) ?? undefined;
    record(run, {
      event: "quarantined",
      ...(id === undefined ? {} : { task: id }),
      path: from,
      note: reason,
    });
    return true;
  }
}
