import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What the referee judges, read from the disk when everything has ended: plain data. */

const STATES = ["waiting", "pending", "review", "done", "failed"];

export function readWorld(scene) {
  const { places, marks, tasks } = readPlaces(scene.run);
  return {
    places,
    marks,
    tasks,
    ledger: readLedger(scene.run),
    completed: readCompleted(scene.run),
    journal: parseJournal(readFileSync(scene.journal, "utf8")),
    operations: scene.operations,
    acknowledged: scene.acknowledged,
    strikes: [...scene.strikes, ...readStrikes(scene.strikesLog)],
    staleSeconds: scene.staleSeconds,
  };
}

/** `places`: id → where it lies. `marks`: what its enqueuer called it → ids. */
function readPlaces(run) {
  const places = new Map();
  const marks = new Map();
  const tasks = new Map();
  const folders = STATES.map((state) => ({ state, folder: join(run, state) }));
  for (const worker of namesIn(join(run, "claimed"))) {
    folders.push({ state: "claimed", worker, folder: join(run, "claimed", worker) });
  }
  for (const { folder, ...place } of folders) {
    for (const name of namesIn(folder)) {
      if (!/^[^.].*\.json$/.test(name)) continue;
      const id = name.slice(0, -".json".length);
      const task = parse(readFileSync(join(folder, name), "utf8"));
      if (task === undefined) continue; // nobody can do it: as good as nowhere
      places.set(id, [...(places.get(id) ?? []), place]);
      tasks.set(id, task);
      const { mark } = task.payload ?? {};
      if (mark !== undefined) marks.set(mark, [...(marks.get(mark) ?? []), id]);
    }
  }
  return { places, marks, tasks };
}

export function readLedger(run) {
  const folder = join(run, "ledger");
  return namesIn(folder)
    .sort()
    .flatMap((name) => parseLines(readFileSync(join(folder, name), "utf8")));
}

function parseLines(text) {
  const lines = [];
  for (const line of text.split("\n")) {
    const parsed = parse(line);
    if (parsed !== undefined) lines.push(parsed);
  }
  return lines;
}

function readCompleted(run) {
  const path = join(run, "status.json");
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return parse(text)?.checkpoint.completed_tasks ?? [];
}

/** Undefined for what is torn or empty. */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The handlers' journal: see programs/handler.sh. */
export function parseJournal(text) {
  const entries = [];
  for (const line of text.split("\n")) {
    const [what, id, ...rest] = line.split(" ");
    if (what === "b" && rest.length === 7) {
      const [token, attempt, pid, at, previous, kind, worker] = rest;
      const lived = previous === "-" ? null : previous;
      entries.push({
        what: "begin",
        id,
        token,
        attempt: Number(attempt),
        pid: Number(pid),
        at: Number(at),
        previous: lived,
        kind,
        worker,
      });
    } else if (what === "e" && rest.length === 4) {
      const [token, pid, at, exit] = rest;
      entries.push({
        what: "end",
        id,
        token,
        pid: Number(pid),
        at: Number(at),
        exit: Number(exit),
      });
    } else if (what === "p" && rest.length === 2) {
      const token = rest[0].split("@")[0].split(".").at(-1);
      entries.push({ what: "proof", id, token, exit: Number(rest[1]) });
    }
  }
  return entries;
}

/** What processes did to themselves: `SECONDS NAME PID WHAT …`. */
function readStrikes(path) {
  const strikes = [];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const [at, worker, , what] = line.split(" ");
    if (what === "die" || what === "stop") strikes.push({ at: Number(at), worker, what });
  }
  return strikes;
}

export function countFaults(path) {
  const counts = {};
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const [, , , what, code] = line.split(" ");
    if (what === undefined) continue;
    const key = /^(burst|single|short)$/.test(what) && /^E/.test(code) ? code : what;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/** The bytes below a folder. */
export function bytesBelow(folder) {
  let bytes = 0;
  for (const entry of entriesIn(folder)) {
    const path = join(folder, entry.name);
    try {
      bytes += entry.isDirectory() ? bytesBelow(path) : lstatSync(path).size;
    } catch (error) {
      if (error.code !== "ENOENT") throw error; // removed meanwhile
    }
  }
  return bytes;
}

function entriesIn(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(error.code)) return [];
    throw error;
  }
}

function namesIn(folder) {
  return entriesIn(folder).map((entry) => entry.name);
}
