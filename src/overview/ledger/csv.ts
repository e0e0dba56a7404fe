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
  return [...COLUMNS.map((key) => cell(line[key])), cell(more)].join(",");
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // A spreadsheet would take these for a formula, and notes are written by models.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
