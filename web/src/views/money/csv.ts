import type { Money } from "../../live/data-shapes.ts";

/** A line per day and model, for a spreadsheet. */
export function csvOf({ days }: Pick<Money, "days">): string {
  const rows = days.flatMap(({ key, models }) =>
    models.map(({ model, usd }) => [key ?? "", quoted(model), usd.toFixed(4)].join(",")),
  );
  return ["day,model,usd", ...rows, ""].join("\n");
}

/** A name that begins like a formula would be one. */
function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
