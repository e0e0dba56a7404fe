/**
 * What was decided about a task between its attempts, in the words of `viv show` and the page. The
 * task's history says that it went on; its lines of the ledger say how, and what changed no attempt.
 */

type Line = Readonly<Record<string, unknown>>;

/** Of a history: an attempt, or that the task was sent back or tried again. */
interface Past {
  at: string;
  retried?: true;
  by?: string;
  note?: string;
}

export interface Decision {
  at: string;
  text: string;
}

const WORDS: Record<string, string> = {
  rejected: "sent back",
  reworked: "sent back",
  retried: "tried again",
  approved: "approved",
  cancelled: "cancelled",
  needs_you: "left to a person",
};

/** The history in its order, with the decisions that only the ledger has between the attempts. */
export function withDecisions<T extends Past>(
  history: readonly T[],
  ledger: readonly Line[],
): (T | Decision)[] {
  const left = ledger.filter(
    ({ event }) => typeof event === "string" && Object.hasOwn(WORDS, event),
  );
  const rows: (T | Decision)[] = history.map((one) => {
    if (!one.retried) return one;
    const { by = "someone", at, note } = one;
    // It is written just before its line; where that could not be written, it went back all the same.
    const found = left.find((line) => by === (line.by ?? "someone") && at <= timeOf(line));
    if (found !== undefined) left.splice(left.indexOf(found), 1);
    return { at, text: wordsOf({ event: "rejected", ...found, by, note }) };
  });
  for (const line of left) {
    const { event } = line;
    // Without a record of the history they are of an earlier round of the task.
    if (event === "rejected" || event === "reworked" || event === "retried") continue;
    const at = timeOf(line);
    const before = rows.findLastIndex((row) => row.at <= at);
    rows.splice(before + 1, 0, { at, text: wordsOf(line) });
  }
  return rows;
}

function timeOf({ at }: Line): string {
  return typeof at === "string" ? at : "";
}

function wordsOf({ event, by, note, unproven }: Line): string {
  const how = unproven === undefined ? "" : " without proof";
  const why = [unproven, note].filter(Boolean).join("; ");
  return `${WORDS[String(event)]}${how}${by ? ` by ${by}` : ""}${why ? `: ${why}` : ""}`;
}
