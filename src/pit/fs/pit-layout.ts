import { VivError } from "../../base/errors.ts";
import type { Examination } from "../../queue/fs/doctor/examination.ts";
import type { Places } from "../../queue/fs/doctor/places.ts";
import { linkIfFree, namesIn, statIfThere } from "../../queue/fs/files/atomic.ts";
import type { FsRun } from "../../queue/fs/fs-run.ts";
import { fileOf, idLinkOf, type Layout, type LayoutHooks } from "../../queue/fs/layout.ts";
import { foodOf, parseFood } from "../food.ts";
import {
  foodsByNumber,
  idOfDone,
  idOfFood,
  numberOf,
  resultIdOf,
  resultName,
  splitClaimName,
  unprovenNumberOf,
  whyNotFoodId,
  whyNotSnake,
} from "../food-names.ts";
import { snakeOfWaste } from "../waste.ts";
import { pitExtensions } from "./fs-pit-store.ts";
import { bringBackVanished, nameNameless, noteVanished, noticeHandClaims } from "./hand-claims.ts";
import { countUnknown, creditOf, eatenByHand, handResults, markUnproven } from "./hand-results.ts";
import { isReported, markReported, reportAllStuck, reportStuck } from "./keeper.ts";
import { newFoodId, reserveNumber } from "./numbers.ts";
import { leaveChokeNote, notePart, publishResult } from "./reports.ts";

/** What a pit adds to transitions and checks. */
const hooks: LayoutHooks = {
  newId: newFoodId,
  onNew: (run, task) => {
    notePart(run, task);
    const number = numberOf(task.task_id);
    if (number !== null) reserveNumber(run, number);
  },
  beforeDone: publishResult,
  beforeFailure: markUnproven,
  beforeChoke: leaveChokeNote,
  onStuck: reportStuck,
  onCancelled: markReported,
  onVanished: noteVanished,
  wasStuck: isReported,
  creditOf,
  doneByHand: eatenByHand,
  onSweep: async (run) => {
    nameNameless(run);
    noticeHandClaims(run);
    await bringBackVanished(run);
    reportAllStuck(run);
  },
  lastActivity: newestLog,
  examine: checkPit,
  vanished: vanishedFood,
};

/** The snake pit's: Markdown, and all claims in one folder, the snake's name before the food's. */
export const PIT_LAYOUT: Layout = {
  kind: "pit",
  folders: {
    waiting: "resting/later",
    pending: "food",
    claimed: "claimed",
    review: "resting/review",
    done: "done",
    failed: "resting/stuck",
  },
  record: "record",
  others: ["scraps", "waste"],
  derived: ["heartbeats", "numbers", "parts", "hand", "told"],
  suffix: ".md",
  isFlat: true,
  maxAttempts: 20,
  reservedTypes: ["keeper", "planner"],
  staleAfterSeconds: 1800,
  idOf: (state, name) => (state === "done" ? idOfDone(name) : idOfFood(name)),
  isBeside: (state, name) =>
    /^readme\.md$/i.test(name) ||
    (state === "done" && (resultIdOf(name) !== null || unprovenNumberOf(name) !== null)),
  splitClaim: splitClaimName,
  whyNotId: whyNotFoodId,
  whyNotWorker: whyNotSnake,
  parse: (text, id, context) => {
    if (text.includes("\0")) throw new VivError("CORRUPT", "not a text: no food");
    return parseFood(text, id, context);
  },
  write: foodOf,
  hooks,
  extensions: pitExtensions,
};

/** For a snake that uses only a shell, its logs in waste/ are the sign of life. */
function newestLog(run: FsRun, worker: string): number {
  const folder = `${run.paths.root}/waste`;
  let newest = 0;
  for (const name of namesIn(folder)) {
    if (!name.startsWith(`${worker}-`) || snakeOfWaste(name)?.snake !== worker) continue;
    newest = Math.max(newest, statIfThere(`${folder}/${name}`)?.mtimeMs ?? 0);
  }
  return newest;
}

/** Faults that only a pit can have. */
async function checkPit({ run, find }: Examination, places: Places): Promise<void> {
  for (const { number, foods } of foodsByNumber(places.keys())) {
    await find({
      code: "same_number",
      path: foods.join(", "),
      message: `${foods.length} foods have the number ${number}; each is eaten for itself`,
      repair: "none needed; rename one while it waits in food/, if that confuses",
    });
  }
  for (const { id, state, ready } of handResults(run)) {
    if (state !== "unknown" || !ready) continue;
    await find(
      {
        code: "orphan_result",
        path: `done/${id}.result.md`,
        message: "a result by hand for food that was never seen here, so that nothing can prove it",
        repair: "enter it into the books as eaten, not proven",
      },
      async () => {
        await countUnknown(run);
        return statIfThere(fileOf(run.paths, "done", id)) !== undefined;
      },
    );
  }
}

/** Food with a result is not lost: the sweep proves it. Other food goes back into food/. */
function vanishedFood(run: FsRun, id: string): { repair: string; fix(): boolean } | null {
  if (statIfThere(`${run.paths.state.done}/${resultName(id)}`)) return null;
  return {
    repair: "put it back into food/",
    fix: () => linkIfFree(idLinkOf(run.paths, id), fileOf(run.paths, "pending", id)),
  };
}
