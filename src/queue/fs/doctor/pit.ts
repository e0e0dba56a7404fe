import { numberOf } from "../../../pit/food-names.ts";
import { handResults } from "../../../pit/fs/by-hand.ts";
import type { Examination } from "../doctor.ts";
import type { Places } from "./places.ts";

/** What can be wrong in a pit only; both are for a person to put right. */
export function checkPit({ run, find }: Examination, places: Places): void {
  if (run.paths.layout.kind !== "pit") return;
  const byNumber = new Map<number, string[]>();
  for (const id of places.keys()) {
    const number = numberOf(id);
    if (number !== null) byNumber.set(number, [...(byNumber.get(number) ?? []), id]);
  }
  for (const [number, ids] of byNumber) {
    if (ids.length < 2) continue;
    find({
      code: "same_number",
      path: ids.sort().join(", "),
      message: `${ids.length} foods have the number ${number}; each is eaten for itself`,
      repair: "none needed; rename one while it waits in food/, if that confuses",
    });
  }
  for (const { id, state } of handResults(run)) {
    if (state !== "unknown") continue;
    find({
      code: "orphan_result",
      path: `done/${id}.result.md`,
      message: "a result for food that nobody has ever seen, so that nothing can prove it",
      repair: `none by itself; put the food into food/${id}.md to have it proven, or move the result away`,
    });
  }
}
