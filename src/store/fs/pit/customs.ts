import { numberOf } from "../../../model/food-names.ts";
import type { Customs } from "../run.ts";
import { leaveChokeNote } from "./choke-note.ts";
import { bringBackVanished, noticeHandClaims } from "./hand-claims.ts";
import { isTold, keepFromKeeper, tellKeeper, tellKeeperOfAll } from "./keeper.ts";
import { newFoodId, reserveNumber } from "./numbers.ts";
import { notePart } from "./parts.ts";
import { publishResult } from "./result.ts";

/** What a pit does besides, at each transition. */
export const PIT_CUSTOMS: Customs = {
  newId: newFoodId,
  onNew: (run, task) => {
    notePart(run, task);
    const number = numberOf(task.task_id);
    if (number !== null) reserveNumber(run, number);
  },
  beforeDone: publishResult,
  beforeChoke: leaveChokeNote,
  onStuck: tellKeeper,
  onCancelled: keepFromKeeper,
  wasStuck: isTold,
  onSweep: (run) => {
    noticeHandClaims(run);
    bringBackVanished(run);
    tellKeeperOfAll(run);
  },
};
