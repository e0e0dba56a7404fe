import { formatDuration } from "../../base/duration.ts";
import { lastLines } from "../../base/text.ts";
import { isAttempt } from "../../queue/attempt.ts";
import type { RunContext } from "../../queue/operation.ts";
import { wordOf } from "../../queue/states.ts";
import { why } from "../why.ts";
import { NAMES } from "./rows.ts";
import type { Details } from "./snapshot.ts";

const LOG_BYTES = 8 * 1024;
const LOG_LINES = 40;
const MOST_ATTEMPTS = 10;

/** What is asked first about a task: why, what was tried, what it said last. */
export async function detailsOf(context: RunContext, id: string): Promise<Details> {
  const { store } = context;
  const view = await store.show(id);
  if (view === null) {
    return { id, head: "is gone", why: [], attempts: [], log: [] };
  }
  const word = wordOf(view as { state: "done"; cancelled?: true });
  const since = formatDuration(context.now() - Date.parse(view.since));
  const by = view.worker ? ` by ${view.worker}` : "";
  const { reasons } = await why.run(context, { id });
  const attempts = view.history.filter(isAttempt).slice(-MOST_ATTEMPTS);
  return {
    id,
    head: `${view.type ?? "?"}  ${NAMES[word] ?? word}${by} for ${since}`,
    why: reasons.map(({ text, command }) => ({ text, command })),
    attempts: attempts.map(
      ({ attempt, worker, outcome, to, note }) =>
        `${attempt}. ${worker}  ${outcome} → ${to}${note ? `  ${note}` : ""}`,
    ),
    log: logEnd(context, id),
  };
}

function logEnd({ store }: RunContext, id: string): string[] {
  const tail = store.tailLog(id, { bytes: LOG_BYTES });
  try {
    let text = "";
    // Not to the end of one that grows faster than it is read.
    for (
      let piece = tail.read();
      piece !== null && text.length < 4 * LOG_BYTES;
      piece = tail.read()
    )
      text += piece;
    return lastLines(text, LOG_LINES);
  } finally {
    tail.close();
  }
}
