import { csvCell } from "../../base/csv.ts";
import type { Entry } from "../../ledger/line.ts";

const COLUMNS = [
  ...["at", "room", "event", "agent", "task", "type", "attempt", "from", "to", "outcome"],
  ...["usd", "by", "note"],
];

export function csvHeader(): string {
  return [...COLUMNS, "more"].join(",");
}

/** One row; the keys that have no column are one JSON object in the last. */
export function csvRow(line: Entry): string {
  const rest = Object.entries(line).filter(([key]) => !COLUMNS.includes(key));
  const more = rest.length > 0 ? JSON.stringify(Object.fromEntries(rest)) : "";
  return [...COLUMNS.map((key) => csvCell(line[key])), csvCell(more)].join(",");
}
