import { VivError } from "../../base/errors.ts";
import { linkIfFree, namesIn, statIfThere } from "../../queue/fs/files/atomic.ts";
import type { FsRun } from "../../queue/fs/fs-run.ts";
import { fileOf, idLinkOf, type Layout, type LayoutHooks } from "../../queue/fs/layout.ts";
import { foodOf, parseFood } from "../food.ts";
import {
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
import { checkPit } from "./examine-pit.ts";
import { pitExtensions } from "./fs-pit-store.ts";
import { noticeChokes } from "./hand-chokes.ts";
import { bringBackVanished, nameNameless, noteVanished, noticeHandClaims } from "./hand-claims.ts";
import {
  creditOf,
  eatenByHand,
  giveBackProof,
  markUnproven,
  waitsForProof,
} from "./hand-results.ts";
import { finishReports, markReported, reportAllStuck, reportStuck, wasStuck } from "./keeper.ts";
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
  wasStuck,
  creditOf,
  waitsForProof,
  giveBackProof,
  doneByHand: eatenByHand,
  onSweep: async (run) => {
    nameNameless(run);
    noticeHandClaims(run);
    await bringBackVanished(run);
    reportAllStuck(run);
    await noticeChokes(run);
    finishReports(run);
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
  derived: ["numbers", "parts", "hand", "told"],
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

/** Food with a result is not lost: the sweep proves it. Other food goes back into food/. */
function vanishedFood(run: FsRun, id: string): { repair: string; fix(): boolean } | null {
  if (statIfThere(`${run.paths.state.done}/${resultName(id)}`)) return null;
  return {
    repair: "put it back into food/",
    fix: () => linkIfFree(idLinkOf(run.paths, id), fileOf(run.paths, "pending", id)),
  };
}
