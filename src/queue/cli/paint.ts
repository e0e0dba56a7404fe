import type * as z from "zod/mini";
import type { Term } from "../../operation/term.ts";
import type { ended } from "../schemas.ts";
import { TASK_STATES } from "../states.ts";
import type { Counts } from "../store.ts";

export function countLine(counts: Counts, term: Term): string {
  const parts: string[] = TASK_STATES.map((state) =>
    counts[state] > 0
      ? paintState(state, term, `${state} ${counts[state]}`)
      : term.color.dim(`${state} 0`),
  );
  if (counts.cancelled > 0)
    parts.push(paintState("cancelled", term, `cancelled ${counts.cancelled}`));
  if (counts.quarantined > 0) parts.push(term.color.red(`quarantined ${counts.quarantined}`));
  return parts.join("  ");
}

export function paintState(state: string, { color }: Term, text = state): string {
  const paint =
    {
      pending: color.yellow,
      claimed: color.blue,
      review: color.magenta,
      done: color.green,
      failed: color.red,
      cancelled: color.red,
    }[state] ?? color.cyan;
  return paint(text);
}

/** `t.1: claimed → done` */
export function endedLine(
  { id, from, to, retry_at }: z.output<typeof ended>,
  { color }: Term,
): string {
  const paint =
    to === "done" ? color.green : to === "failed" || to === "cancelled" ? color.red : color.yellow;
  const rest = retry_at ? color.dim(` (until ${retry_at})`) : "";
  return `${id}: ${from} → ${paint(to)}${rest}`;
}
