/**
 * The referee: what went wrong in a storm, from what is on the disk at the end, what the clients were
 * answered, and the handlers' own journal. Pure functions from plain data to a list of
 * `{kind, id, text}`; nothing here trusts the product's word where another witness was there.
 */

/** What each kind means, in the order of the table. */
export const KINDS = {
  lost: "acknowledged, and nowhere",
  "two places": "in two states at once",
  "counted twice": "done twice, run again after an acknowledged end, or an end that did not stay",
  overlapping: "two runs of one task at the same time",
  refused: "refused after the commit",
  charged: "the worker's trouble charged to the task, or finished work done again",
  asleep: "waits although its dependencies are done, or was left by --drain",
  hung: "did not end in time",
  bug: "status 70, or a worker that died by itself",
  orphans: "a handler that outlived everything",
  growth: "more bytes below .viv/ than any use explains",
  doctor: "found by doctor after the repair",
};

export function judge(world) {
  const ledger = byTask(world.ledger);
  return [
    ...lost(world),
    ...twoPlaces(world),
    ...doneTwice(world, ledger),
    ...wrongList(world),
    ...ranAfterEnd(world),
    ...endThatDidNotStay(world),
    ...overlapping(world),
    ...refusedEnqueue(world),
    ...refusedEnd(world, ledger),
    ...refusedDecision(world),
    ...lostOwnEnd(world, ledger),
    ...charged(world, ledger),
    ...asleep(world),
    ...hungCommands(world),
    ...bugs(world),
  ];
}

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

/** An enqueue that was acknowledged, and its task is in no state. */
export function lost({ operations, places }) {
  const crimes = [];
  for (const { n, verb, enqueued = [] } of operations) {
    for (const id of enqueued) {
      if (!places.has(id)) crimes.push({ kind: "lost", id, text: `${verb} ${n} was acknowledged` });
    }
  }
  return crimes;
}

export function twoPlaces({ places }) {
  const crimes = [];
  for (const [id, list] of places) {
    if (list.length < 2) continue;
    const text = list.map(({ state, worker }) => (worker ? `${state} by ${worker}` : state));
    crimes.push({ kind: "two places", id, text: text.join(", ") });
  }
  return crimes;
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

function isIn(places, id, state) {
  return places.get(id)?.some((place) => place.state === state) ?? false;
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

/**
 * Two runs of a task at the same time: the second began before the first had ended, and the first was
 * alive then. A handler of `viv work` says so itself (`previous`), or ends later than the second
 * began. A claim without a process (a loop in a shell, a foreign worker) may be given away when its
 * lease is over or a person cancels it: then it is nobody's fault.
 */
export function overlapping({ journal, operations, staleSeconds }) {
  const crimes = [];
  const open = new Map();
  const cancels = new Set(operations.filter(({ verb }) => verb === "cancel").map(({ id }) => id));
  const tell = (id, first, second) => {
    const text = `${second.worker} began at ${second.at}; ${first.worker}, begun at ${first.at}, still ran`;
    crimes.push({ kind: "overlapping", id, text });
  };
  const isExcused = (first, second) =>
    first.kind !== "work" && (cancels.has(first.id) || second.at - first.at > staleSeconds - 1);
  for (const entry of journal) {
    const runs = open.get(entry.id) ?? [];
    if (entry.what === "begin") {
      const alive = runs.find(({ token }) => token === entry.previous);
      if (alive && !isExcused(alive, entry)) tell(entry.id, alive, entry);
      open.set(entry.id, [...runs, { ...entry, isTold: new Set(alive ? [alive.token] : []) }]);
    } else if (entry.what === "end") {
      const at = runs.findIndex(({ token, pid }) => token === entry.token && pid === entry.pid);
      if (at === -1) continue;
      const [ended] = runs.splice(at, 1);
      // Those that began while it ran: it has just shown that it was alive.
      for (const later of runs.slice(at)) {
        if (later.isTold.has(ended.token) || isExcused(ended, later)) continue;
        tell(entry.id, ended, later);
      }
    }
  }
  return crimes;
}

/** Answered with an error, and yet it was enqueued by that very call. */
export function refusedEnqueue({ operations, marks }) {
  const crimes = [];
  for (const { n, verb, id, status, code, mark, after, refusals = [], enqueued } of operations) {
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
 * the answer. CLAIM_LOST, too, if the claim's own end is the one that counts.
 */
export function refusedEnd({ operations }, ledger) {
  const crimes = [];
  for (const { n, verb, id, token, status, code, after } of operations) {
    if (verb !== "complete" && verb !== "fail") continue;
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

const EVENTS = { cancel: "cancelled", retry: "retried", approve: "approved", reject: "rejected" };

/** A person was told no, and the ledger says that it was done in that person's name. */
export function refusedDecision({ operations, ledger }) {
  const decided = new Map();
  for (const { event, outcome, by, task } of ledger) {
    if (by) decided.set(`${outcome === "cancelled" ? "cancelled" : event} ${by} ${task}`, true);
  }
  const crimes = [];
  for (const { n, verb, id, by, status, code } of operations) {
    // LOCKED: it is cancelled, and the answer says so; processes are left that would not die.
    if (!(verb in EVENTS) || status === 0 || status === null || code === "LOCKED") continue;
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
      const neverBegan = run === undefined && ["failed", "unproven", "timed_out"].includes(outcome);
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

/** After --drain nothing is left but what waits for something that is not done, or for a person. */
export function asleep({ places, tasks }) {
  const crimes = [];
  for (const [id, list] of places) {
    const state = list[0].state;
    if (state === "pending" || state === "claimed") {
      crimes.push({ kind: "asleep", id, text: `still ${state} after --drain` });
    }
    if (state !== "waiting") continue;
    const unmet = (tasks.get(id)?.depends_on ?? []).filter((one) => !isIn(places, one, "done"));
    if (unmet.length === 0) crimes.push({ kind: "asleep", id, text: "all it waits for is done" });
  }
  return crimes;
}

export function hungCommands({ operations }) {
  return operations
    .filter(({ hung }) => hung)
    .map(({ n, verb, id, hung }) => ({
      kind: "hung",
      id: id ?? "-",
      text: `${verb} ${n}: ${JSON.stringify(hung)}`,
    }));
}

export function bugs({ operations }) {
  return operations
    .filter(
      ({ verb, status, code }) => status === 70 || (status === 1 && !code && verb !== "doctor"),
    )
    .map(({ n, verb, id, message }) => ({
      kind: "bug",
      id: id ?? "-",
      text: `${verb} ${n}: ${String(message).split("\n").slice(0, 3).join(" | ")}`,
    }));
}
