import type { Examination } from "../../queue/fs/doctor/examination.ts";
import type { Places } from "../../queue/fs/doctor/places.ts";
import { linkIfFree, statIfThere } from "../../queue/fs/files/atomic.ts";
import type { FsRun } from "../../queue/fs/fs-run.ts";
import { fileOf, idLinkOf } from "../../queue/fs/layout.ts";
import { numberOf, resultName } from "../food-names.ts";
import { handResults } from "./by-hand.ts";

/** Faults that only a pit can have; a person has to put both right. */
export async function checkPit({ run, find }: Examination, places: Places): Promise<void> {
  const byNumber = new Map<number, string[]>();
  for (const id of places.keys()) {
    const number = numberOf(id);
    if (number !== null) byNumber.set(number, [...(byNumber.get(number) ?? []), id]);
  }
  for (const [number, ids] of byNumber) {
    if (ids.length < 2) continue;
    await find({
      code: "same_number",
      path: ids.sort().join(", "),
      message: `${ids.length} foods have the number ${number}; each is eaten for itself`,
      repair: "none needed; rename one while it waits in food/, if that confuses",
    });
  }
  for (const { id, state } of handResults(run)) {
    if (state !== "unknown") continue;
    await find({
      code: "orphan_result",
      path: `done/${id}.result.md`,
      message: "a result for food that was never seen here, so that nothing can prove it",
      repair: `none by itself; put the food into food/${id}.md to have it proven, or move the result away`,
    });
  }
}

/** Food with a result is not lost: the sweep proves it. Other food goes back into food/. */
export function vanishedFood(run: FsRun, id: string): { repair: string; fix(): boolean } | null {
  if (statIfThere(`${run.paths.state.done}/${resultName(id)}`)) return null;
  return {
    repair: "put it back into food/",
    fix: () => linkIfFree(idLinkOf(run.paths, id), fileOf(run.paths, "pending", id)),
  };
}
