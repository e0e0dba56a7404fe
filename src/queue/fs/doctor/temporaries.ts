import { finishPublish } from "../enqueue/publish.ts";
import { namesIn, statIfThere, unlinkIfThere } from "../files/atomic.ts";
import { quarantine } from "../files/quarantine.ts";
import { below, idLinkOf } from "../layout.ts";
import { isStaleTemporary } from "../sweep.ts";
import type { Examination } from "./doctor.ts";

/** Foreign writers get an hour: writing a task file takes no longer. */
const FOREIGN_STALE_MS = 3_600_000;

export async function checkTemporaries({ run, checked, find }: Examination): Promise<void> {
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
    } else {
      await find(
        {
          code: "stale_temporary",
          path: `.viv/tmp/${name}`,
          message: "left behind by a process that died before it published anything",
          repair: "move it to quarantine/",
        },
        () => setAside(run, path),
      );
    }
  }
  for (const state of ["pending", "done", "failed", "waiting", "review"] as const) {
    for (const name of namesIn(paths.state[state])) {
      if (!/^\..*\.tmp$/.test(name)) continue;
      const path = `${paths.state[state]}/${name}`;
      const stats = statIfThere(path);
      if (!stats || Date.now() - stats.mtimeMs < FOREIGN_STALE_MS) continue;
      await find(
        {
          code: "stale_temporary",
          path: below(paths, path),
          message: "a foreign writer's temporary file, untouched for over an hour",
          repair: "move it to quarantine/",
        },
        () => quarantine(run, path, "a temporary file that was never published"),
      );
    }
  }
}

/** An empty leftover and a draft of what is derived say nothing; the rest may be of use. */
function setAside(run: Examination["run"], path: string): boolean {
  const isDraft = /\/(status|projection|boot|(worker|process|attempts)-[^/]*)~[^/]*$/.test(path);
  const stats = statIfThere(path);
  if (stats?.isFile() && (isDraft || stats.size === 0)) return unlinkIfThere(path);
  return quarantine(run, path, "a temporary file that was never published");
}
