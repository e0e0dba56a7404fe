import { EVENTS } from "./world.mjs";

/** Whose trouble it was. */

const BAD = ["failed", "unproven", "rate_limited", "timed_out", "released"];

/**
 * An attempt that ended badly though its handler exited with 0 and its proof passed or never ran; one
 * that failed though its handler never began; and finished work that was done again though its worker
 * was neither killed nor stopped.
 */
export function charged({ journal, operations, strikes, acknowledged }, ledger) {
  const crimes = [];
  const runs = runsOf(journal);
  const byClient = new Set(
    operations.filter(({ verb }) => verb === "fail").map(({ token }) => token),
  );
  for (const [id, lines] of ledger) {
    const voided = new Set();
    for (const { event, token } of lines) if (event === "void") voided.add(token);
    for (const { event, token, outcome, note, worker } of lines) {
      if (event !== "ended" || !BAD.includes(outcome) || voided.has(token) || byClient.has(token))
        continue;
      const run = runs.get(`${id} ${token}`);
      const isFinished = run?.exit === 0 && (run.proof ?? 0) === 0;
      // Without a claim of that token its file was touched since: the run is known by another one.
      const isClaim = lines.some((line) => line.event === "claimed" && line.token === token);
      const isBad = ["failed", "unproven", "timed_out"].includes(outcome);
      const neverBegan = run === undefined && isClaim && isBad;
      if (!isFinished && !neverBegan) continue;
      const how = isFinished ? "its handler exited with 0" : "its handler never began";
      crimes.push({
        kind: "charged",
        id,
        text: `${outcome} by ${worker}, though ${how}: ${note ?? ""}`,
      });
    }
  }
  return [...crimes, ...doneAgain(runs, ledger, { operations, strikes, acknowledged })];
}

function runsOf(journal) {
  const runs = new Map();
  for (const entry of journal) {
    const key = `${entry.id} ${entry.token}`;
    if (entry.what === "begin") runs.set(key, entry);
    const run = runs.get(key);
    if (run === undefined) continue;
    if (entry.what === "end") Object.assign(run, { exit: entry.exit, endedAt: entry.at });
    if (entry.what === "proof") run.proof = entry.exit;
  }
  return runs;
}

/** Only what has no end in the ledger at all: other ends are judged elsewhere. */
function doneAgain(runs, ledger, { operations, strikes }) {
  const crimes = [];
  const decided = new Set(operations.filter(({ verb }) => verb in EVENTS).map(({ id }) => id));
  const later = new Map();
  for (const run of runs.values()) later.set(run.id, Math.max(later.get(run.id) ?? 0, run.at));
  for (const run of runs.values()) {
    if (run.kind !== "work" || run.exit !== 0 || (run.proof ?? 0) !== 0 || decided.has(run.id))
      continue;
    const next = later.get(run.id);
    if (next <= run.at) continue;
    const isStruck = strikes.some(
      ({ worker, at }) => worker === run.worker && at >= run.at - 1 && at <= next + 1,
    );
    const ends = (ledger.get(run.id) ?? []).filter(
      ({ event, token }) => event === "ended" && token === run.token,
    );
    if (isStruck || ends.length > 0) continue;
    const text = `finished at ${run.endedAt} by ${run.worker}, begun again at ${next}`;
    crimes.push({ kind: "charged", id: run.id, text });
  }
  return crimes;
}
