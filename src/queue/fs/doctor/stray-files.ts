import { type Dirent, readdirSync } from "node:fs";
import { finishPublish } from "../enqueue/publish.ts";
import { failedWith, namesIn, statIfThere, unlinkIfThere } from "../files/atomic.ts";
import { type FsRun, quarantine } from "../fs-run.ts";
import { derivedFolders, idLinkOf } from "../layout.ts";
import { isStaleTemporary } from "../sweep.ts";
import type { Examination } from "./examination.ts";

/**
 * Below .viv/ lie regular files; in due/, folders of them. Anything else is foreign: a writer that
 * needs the place moves it away, and this check finds the rest.
 */
export async function checkDerived({ run, findMisplaced }: Examination): Promise<void> {
  const { paths } = run;
  const report = (path: string, message = "not a regular file") =>
    findMisplaced("foreign_file", path, message);
  const folders = new Set(derivedFolders(paths));
  for (const folder of folders) {
    for (const entry of entriesOf(folder)) {
      const path = `${folder}/${entry.name}`;
      if (folders.has(path) || (folder === paths.viv && entry.isDirectory())) continue;
      if (folder === paths.due && entry.isDirectory() && /^\d+$/.test(entry.name)) {
        for (const one of entriesOf(path)) if (!one.isFile()) await report(`${path}/${one.name}`);
      } else if (!entry.isFile()) await report(path);
      else if (folder === paths.due) await report(path, "only folders of due times belong here");
    }
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (failedWith(error, "ENOENT", "ENOTDIR")) return []; // made when it is needed
    throw error;
  }
}

/** Foreign writers get an hour: writing a task file takes no longer. */
const FOREIGN_STALE_MS = 3_600_000;

export async function checkTemporaries(examination: Examination): Promise<void> {
  const { run, checked, find } = examination;
  const { paths } = run;
  for (const name of namesIn(paths.tmp)) {
    checked.temporaries = (checked.temporaries ?? 0) + 1;
    const path = `${paths.tmp}/${name}`;
    const stats = statIfThere(path);
    if (!stats || !isStaleTemporary(stats)) continue;
    const id = name.slice(0, Math.max(0, name.lastIndexOf("~")));
    const owner = id === "" ? undefined : statIfThere(idLinkOf(paths, id));
    if (owner?.ino === stats.ino) {
      await find(
        {
          code: "unfinished_transition",
          path: `.viv/tmp/${name}`,
          message: `${id} was being enqueued when its process died`,
          repair: "publish it",
        },
        () => finishPublish(run, id, name),
      );
      continue;
    }
    await find(
      {
        code: "stale_temporary",
        path: `.viv/tmp/${name}`,
        message: "left behind by a process that died before it published anything",
        repair: "move it to quarantine/",
      },
      () => removeDraft(run, path),
    );
  }
  for (const state of ["pending", "done", "failed", "waiting", "review"] as const) {
    for (const name of namesIn(paths.state[state])) {
      if (!/^\..*\.tmp$/.test(name)) continue;
      const path = `${paths.state[state]}/${name}`;
      const stats = statIfThere(path);
      if (!stats || Date.now() - stats.mtimeMs < FOREIGN_STALE_MS) continue;
      const message = "a foreign writer's temporary file, untouched for over an hour";
      await examination.findMisplaced("stale_temporary", path, message);
    }
  }
}

/** Empty files and drafts of derived files are removed; the others may be of use. */
function removeDraft(run: FsRun, path: string): boolean {
  const isDraft = /\/(status|projection|boot|(worker|process|attempts)-[^/]*)~[^/]*$/.test(path);
  const stats = statIfThere(path);
  if (stats?.isFile() && (isDraft || stats.size === 0)) return unlinkIfThere(path);
  return quarantine(run, path, "a temporary file that was never published");
}
