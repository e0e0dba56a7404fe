import { doneTokens, isIn } from "./world.mjs";

/** Ends: one for each task, and the one that somebody was told of. */

/** Two attempts that count as done, though the first was not sent back from review. */
export function doneTwice(_world, ledger) {
  const crimes = [];
  for (const [id, lines] of ledger) {
    const done = doneTokens(lines);
    const final = done.filter(({ to }) => to === "done");
    const isTwice = final.length > 1 || (final.length === 1 && done.at(-1) !== final[0]);
    if (!isTwice) continue;
    const text = `done by the claims ${done.map(({ token }) => token).join(", ")}`;
    crimes.push({ kind: "counted twice", id, text });
  }
  return crimes;
}

/** completed_tasks has each task of done/ once, and nothing else. */
export function wrongList({ completed, places }) {
  const crimes = [];
  const seen = new Set();
  for (const id of completed) {
    if (seen.has(id)) crimes.push({ kind: "counted twice", id, text: "twice in completed_tasks" });
    seen.add(id);
    if (!isIn(places, id, "done")) {
      crimes.push({ kind: "counted twice", id, text: "in completed_tasks, not in done/" });
    }
  }
  for (const id of places.keys()) {
    if (!seen.has(id) && isIn(places, id, "done")) {
      crimes.push({ kind: "counted twice", id, text: "in done/, not in completed_tasks" });
    }
  }
  return crimes;
}

/** Ends as done that somebody was told of: by `viv complete`, or by a worker on its stdout. */
function acknowledgedEnds({ operations, acknowledged }) {
  const ends = operations
    .filter(({ verb, status }) => verb === "complete" && status === 0)
    .map(({ id, to, end, token, n }) => ({ id, to, at: end, token, text: `complete ${n}` }));
  for (const { id, to, at, outcome, worker } of acknowledged) {
    if (outcome === "done") ends.push({ id, to, at, text: `worker ${worker}` });
  }
  return ends;
}

/** A handler began after someone had been told that the task is done. */
export function ranAfterEnd(world) {
  const crimes = [];
  const begins = beginsOf(world.journal);
  for (const { id, to, at, text } of acknowledgedEnds(world)) {
    if (to !== "done") continue;
    const again = begins.get(id)?.find((begin) => begin.at > at + CLOCK);
    if (again) {
      const why = `begun again at ${again.at} by ${again.worker}; done for ${text} at ${at.toFixed(2)}`;
      crimes.push({ kind: "counted twice", id, text: why });
    }
  }
  return crimes;
}

/** /proc/uptime counts in hundredths. */
const CLOCK = 0.02;

function beginsOf(journal) {
  const begins = new Map();
  for (const entry of journal) {
    if (entry.what === "begin") begins.set(entry.id, [...(begins.get(entry.id) ?? []), entry]);
  }
  return begins;
}

/** Acknowledged as done, and it is not. */
export function endThatDidNotStay(world) {
  const crimes = [];
  for (const { id, to, text } of acknowledgedEnds(world)) {
    if (to !== "done" || isIn(world.places, id, "done")) continue;
    const where = world.places.get(id)?.[0]?.state ?? "nowhere";
    crimes.push({ kind: "counted twice", id, text: `done for ${text}, and it is ${where}` });
  }
  return crimes;
}
