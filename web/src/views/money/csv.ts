import { csvCell } from "../../../../src/base/csv.ts";
import type { Money } from "../../live/data-shapes.ts";

/** A line per day and model, for a spreadsheet. */
export function csvOf({ days }: Pick<Money, "days">): string {
  const rows = days.flatMap(({ key, models }) =>
    models.map(({ model, usd }) => [csvCell(key), csvCell(model), usd.toFixed(4)].join(",")),
  );
  return ["day,model,usd", ...rows, ""].join("\n");
}
