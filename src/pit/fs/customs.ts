import type { Customs } from "../../queue/fs/run.ts";
import { numberOf } from "../food-names.ts";
import { markUnproven } from "./by-hand.ts";
import { leaveChokeNote } from "./choke-note.ts";
import { bringBackVanished, nameNameless, noteVanished, noticeHandClaims } from "./hand-claims.ts";
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
  beforeFailure: markUnproven,
  beforeChoke: leaveChokeNote,
  onStuck: tellKeeper,
  onCancelled: keepFromKeeper,
  onVanished: noteVanished,
  wasStuck: isTold,
  onSweep: (run) => {
    nameNameless(run);
    noticeHandClaims(run);
    bringBackVanished(run);
    tellKeeperOfAll(run);
  },
};
