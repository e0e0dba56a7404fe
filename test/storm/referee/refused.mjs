import { doneTokens, EVENTS, isIn } from "./world.mjs";

/** Answers: whoever is told no may do it again. */

/**
 * Answered with an error, and yet it was enqueued by that very call. Where an earlier try for the same id
 * was killed, that one may have done it.
 */
export function refusedEnqueue({ operations, marks }) {
  const crimes = [];
  const unanswered = new Set();
  for (const operation of operations) {
    const { n, verb, id, who, status, code, mark, after, refusals = [], enqueued } = operation;
    if (status === null && verb.startsWith("enqueue") && who) unanswered.add(who);
    const isNamed = id !== undefined || refusals.length > 0;
    if (isNamed && unanswered.has(who)) continue;
    if (operation.message?.includes("may still")) continue; // neither done nor taken back: it says so
    if (verb === "enqueue" && status !== 0 && status !== null && !enqueued) {
      // With an id, by a look right after the answer; without one, by its mark.
      const found = id ? (after && code !== "TASK_EXISTS" ? [id] : []) : (marks.get(mark) ?? []);
      for (const one of found) {
        crimes.push({ kind: "refused", id: one, text: `enqueue ${n}: ${code}, and it is there` });
      }
    }
    for (const refusal of refusals) {
      if (!refusal.after || refusal.code === "TASK_EXISTS") continue;
      const text = `${verb} ${n}: ${refusal.code}, and it is there`;
      crimes.push({ kind: "refused", id: refusal.id, text });
    }
  }
  return crimes;
}

/**
 * `complete` or `fail` was refused, and the task had moved as asked by that claim: seen right after
 * the answer. CLAIM_LOST, too, if the claim's own end is the one that counts. Where an earlier try was
 * killed, that one may have done it.
 */
export function refusedEnd({ operations }, ledger) {
  const crimes = [];
  const unanswered = new Set();
  for (const { n, verb, id, token, status, code, after } of operations) {
    if (verb !== "complete" && verb !== "fail") continue;
    if (status === null) unanswered.add(token);
    if (unanswered.has(token) && code !== "CLAIM_LOST") continue;
    if (status === 0 || status === null || !after) continue;
    const lines = ledger.get(id) ?? [];
    const wanted = verb === "complete" ? ["done", "review"] : ["failed", "waiting", "pending"];
    if (!wanted.includes(after.state)) continue;
    const isRecorded = lines.some(
      ({ event, token: own, outcome }) =>
        event === "ended" &&
        own === token &&
        (outcome === "done") === (verb === "complete") &&
        outcome !== "abandoned" &&
        outcome !== "cancelled",
    );
    const others = doneTokens(lines).filter((one) => one.token !== token);
    if (!isRecorded || (verb === "complete" && others.length > 0)) continue;
    if (verb === "fail" && hasOtherEnd(lines, token)) continue;
    crimes.push({ kind: "refused", id, text: `${verb} ${n}: ${code}, and it is ${after.state}` });
  }
  return crimes;
}

/** It was taken back or cancelled, with or without its end. */
function hasOtherEnd(lines, token) {
  return lines.some(
    ({ event, token: own, outcome }) =>
      event === "ended" && own === token && ["abandoned", "cancelled"].includes(outcome),
  );
}

/** A person was told no, and the ledger says that it was done in that person's name. */
export function refusedDecision({ operations, ledger }) {
  const decided = new Set();
  const cancels = new Map();
  for (const { event, outcome, by, task, token } of ledger) {
    const key = `${outcome === "cancelled" ? "cancelled" : event} ${by} ${task}`;
    if (event === "ended" && outcome === "cancelled") cancels.set(`${task} ${token}`, key);
    // Of two ends of one claim the other one counts.
    if (event === "void" && outcome === "cancelled")
      decided.delete(cancels.get(`${task} ${token}`));
    else if (by) decided.add(key);
  }
  const crimes = [];
  for (const { n, verb, id, by, status, code, message } of operations) {
    if (!(verb in EVENTS) || status === 0 || status === null) continue;
    if (message?.includes("may still")) continue; // neither done nor taken back, and it says so
    if (!decided.has(`${EVENTS[verb]} ${by} ${id}`)) continue;
    crimes.push({ kind: "refused", id, text: `${verb} ${n}: ${code}, and it was done` });
  }
  return crimes;
}

/** A worker said that it had lost a claim whose end it had made itself, and which counts. */
export function lostOwnEnd({ acknowledged, places, operations }, ledger) {
  const crimes = [];
  const told = new Set(
    operations.filter(({ verb }) => verb === "complete").map(({ token }) => token),
  );
  for (const { id, worker, attempt, outcome } of acknowledged) {
    if (outcome !== "lost") continue;
    const lines = ledger.get(id) ?? [];
    const claim = lines.find(
      (line) => line.event === "claimed" && line.worker === worker && line.attempt === attempt,
    );
    if (claim && madeBy(claim.token, id, lines, places)) {
      crimes.push({
        kind: "refused",
        id,
        text: `${worker} lost its claim ${claim.token}, which is done`,
      });
    }
  }
  for (const [id, lines] of ledger) {
    for (const { event, outcome, token, worker } of lines) {
      if (event !== "void" || outcome !== "done" || told.has(token)) continue;
      if (crimes.some((crime) => crime.id === id) || !madeBy(token, id, lines, places)) continue;
      crimes.push({
        kind: "refused",
        id,
        text: `${worker} voided its claim ${token}, which is done`,
      });
    }
  }
  return crimes;
}

/** It is done, that claim recorded it, and no other did. */
function madeBy(token, id, lines, places) {
  if (!isIn(places, id, "done") && !isIn(places, id, "review")) return false;
  const done = lines.filter(({ event, outcome }) => event === "ended" && outcome === "done");
  return done.length > 0 && done.every((line) => line.token === token);
}
