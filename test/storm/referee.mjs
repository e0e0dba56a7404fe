import { charged } from "./referee/charged.mjs";
import { doneTwice, endThatDidNotStay, ranAfterEnd, wrongList } from "./referee/counted-twice.mjs";
import { overlapping } from "./referee/overlapping.mjs";
import { lostOwnEnd, refusedDecision, refusedEnd, refusedEnqueue } from "./referee/refused.mjs";
import { byTask, isIn } from "./referee/world.mjs";

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

/** An enqueue that was acknowledged, and its task is in no state. */
function lost({ operations, places }) {
  const crimes = [];
  for (const { n, verb, enqueued = [] } of operations) {
    for (const id of enqueued) {
      if (!places.has(id)) crimes.push({ kind: "lost", id, text: `${verb} ${n} was acknowledged` });
    }
  }
  return crimes;
}

function twoPlaces({ places }) {
  const crimes = [];
  for (const [id, list] of places) {
    if (list.length < 2) continue;
    const text = list.map(({ state, worker }) => (worker ? `${state} by ${worker}` : state));
    crimes.push({ kind: "two places", id, text: text.join(", ") });
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

function hungCommands({ operations }) {
  return operations
    .filter(({ hung }) => hung)
    .map(({ n, verb, id, hung }) => ({
      kind: "hung",
      id: id ?? "-",
      text: `${verb} ${n}: ${JSON.stringify(hung)}`,
    }));
}

function bugs({ operations }) {
  return operations
    .filter(
      ({ verb, status, code, outcome }) =>
        status === 70 || (status === 1 && !code && verb !== "doctor" && outcome !== "unproven"),
    )
    .map(({ n, verb, id, message }) => ({
      kind: "bug",
      id: id ?? "-",
      text: `${verb} ${n}: ${String(message).split("\n").slice(0, 3).join(" | ")}`,
    }));
}

export { wrongList };
