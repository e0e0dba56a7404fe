/** What several of the referee's judgements need to know about a world. */

export function byTask(ledger) {
  const lines = new Map();
  for (const line of ledger) {
    if (line.task === undefined) continue;
    const own = lines.get(line.task);
    if (own) own.push(line);
    else lines.set(line.task, [line]);
  }
  return lines;
}

export function isIn(places, id, state) {
  return places.get(id)?.some((place) => place.state === state) ?? false;
}

/**
 * The tokens of the claims that ended as done, in order, of one task's ledger lines. A line after
 * another end of the same claim is of a worker that was too late, unless it is the only one that says
 * done.
 */
export function doneTokens(lines) {
  const done = [];
  const late = [];
  const ended = new Set();
  for (const { event, token, outcome, to } of lines) {
    if (event === "void" && outcome === "done") {
      for (const list of [done, late]) {
        const at = list.findLastIndex((one) => one.token === token);
        if (at !== -1) list.splice(at, 1);
      }
    }
    if (event === "approved" && done.length > 0) done.at(-1).to = "done";
    if (event !== "ended") continue;
    if (outcome === "done" && !done.some((one) => one.token === token)) {
      (ended.has(token) ? late : done).push({ token, to });
    }
    ended.add(token);
  }
  return done.length > 0 ? done : late.slice(0, 1);
}

/** What people decide, and what the ledger calls it. */
export const EVENTS = {
  cancel: "cancelled",
  retry: "retried",
  approve: "approved",
  reject: "rejected",
};
