import { namesIn, statIfThere } from "../../queue/fs/files/atomic.ts";
import type { FsRun } from "../../queue/fs/fs-run.ts";
import type { LayoutHooks } from "../../queue/fs/layout.ts";
import { numberOf } from "../food-names.ts";
import { snakeOfWaste } from "../waste.ts";
import { markUnproven } from "./by-hand.ts";
import { leaveChokeNote } from "./choke-note.ts";
import { checkPit, vanishedFood } from "./doctor.ts";
import { bringBackVanished, nameNameless, noteVanished, noticeHandClaims } from "./hand-claims.ts";
import { isTold, keepFromKeeper, tellKeeper, tellKeeperOfAll } from "./keeper.ts";
import { newFoodId, reserveNumber } from "./numbers.ts";
import { notePart } from "./parts.ts";
import { publishResult } from "./result.ts";

/** What a pit adds to transitions and checks. */
export const PIT_HOOKS: LayoutHooks = {
  newId: newFoodId,
  onNew: (run, task) => {
    notePart(run, task);
    const number = numberOf(task.task_id);
    if (number !== null) reserveNumber(run, number);
  },
  beforeDone: publishResult,
  beforeFailure: markUnproven,
  beforeChoke: leaveChokeNote,
  onStuck: tellKeeper,
  onCancelled: keepFromKeeper,
  onVanished: noteVanished,
  wasStuck: isTold,
  onSweep: async (run) => {
    nameNameless(run);
    noticeHandClaims(run);
    await bringBackVanished(run);
    tellKeeperOfAll(run);
  },
  lastActivity: newestLog,
  examine: checkPit,
  vanished: vanishedFood,
};

/** A snake with nothing but a shell shows that it is alive by its logs in waste/. */
function newestLog(run: FsRun, worker: string): number {
  const folder = `${run.paths.root}/waste`;
  let newest = 0;
  for (const name of namesIn(folder)) {
    if (!name.startsWith(`${worker}-`) || snakeOfWaste(name)?.snake !== worker) continue;
    newest = Math.max(newest, statIfThere(`${folder}/${name}`)?.mtimeMs ?? 0);
  }
  return newest;
}
