import { opendirSync, type Stats } from "node:fs";
import { compareIds } from "../../base/compare-ids.ts";
import { isVivError } from "../../base/errors.ts";
import { parseRecord } from "../../base/json.ts";
import { assertName, isListedName, isName } from "../../base/names.ts";
import { watchPaths } from "../../platform/files/watch.ts";
import { type AttemptRecord, type HistoryRecord, isAttempt } from "../attempt.ts";
import type { LedgerLine } from "../ledger.ts";
import { isHandedIn, WAITS_FOR_PROOF, whyUnproven } from "../proof-state.ts";
import { TASK_STATES, type TaskState } from "../states.ts";
import type {
  Counts,
  DependencyFact,
  LedgerNews,
  LedgerPosition,
  LedgerQuery,
  ListQuery,
  TaskSummary,
  TaskView,
  WorkerView,
} from "../store.ts";
import { MAX_TASK_BYTES, priorityOf, type Task } from "../task.ts";
import { claimedTasks, claimWorkers } from "./claims/claimed.ts";
import { type Holding, holdingsOf } from "./claims/holdings.ts";
import { isClaimed, readNote } from "./claims/process-notes.ts";
import { isAlive, readHeartbeat, readWorkerFile, vitalSigns } from "./claims/vital-signs.ts";
import { countCancelled, isCancelled } from "./ends/cancelled.ts";
import { parseIn } from "./enqueue/task-file.ts";
import { namesIn, readRegular, statIfThere, tokenOf } from "./files/atomic.ts";
import { type FsRun, nowIso } from "./fs-run.ts";
import { idOfNote, quarantinedOf } from "./layout.ts";
import { isMet, locate } from "./locate.ts";
import { readPause } from "./pause.ts";
import { readProof } from "./record/artifact-files.ts";
import {
  attemptFrom,
  decisionFrom,
  digestLedger,
  dropProof,
  hasHistory,
  isDecision,
  readHistory,
} from "./record/attempts.ts";
import { linesAbout, RunLedgerFollower, readLedger, searchFor } from "./record/ledger-files.ts";
import { completedTasks } from "./record/status-file.ts";

/** Queries. Nothing here writes, so they work on a read-only run. */

export function showTask(run: FsRun, rawId: string): TaskView | null {
  const id = assertName("task id", rawId);
  const place = locate(run, id);
  if (place === null) return showDoneByHand(run, id) ?? showQuarantined(run, id);
  const stats = statIfThere(place.path);
  const { state, worker } = place;
  const { task, reason } = readTaskAt(run, place.path, id);
  const recorded = readHistory(run, id);
  let history = recorded.length > 0 ? recorded : null;
  return {
    id,
    type: task?.task_type ?? null,
    state,
    cancelled: state === "failed" && isCancelled(run, id) ? true : undefined,
    task,
    since: stats ? changedAt(stats) : nowIso(run),
    /** Read from the ledger only when asked for: that is long, and many tasks are shown for their state. */
    get history() {
      history ??= historyFromLedger(run, id);
      return history;
    },
    worker,
    token: worker && stats ? tokenOf(stats) : undefined,
    process: worker ? processOf(run, id) : undefined,
    reason,
  };
}

function showDoneByHand(run: FsRun, id: string): TaskView | null {
  const found = run.hooks?.doneByHand(run).find((one) => one.id === id);
  const stats = found && statIfThere(found.path);
  if (!stats) return null;
  const { task } = readTaskAt(run, found.path, id);
  const history = historyFromLedger(run, id);
  const type = task?.task_type ?? null;
  return { id, type, state: "done", task, since: changedAt(stats), history, reason: found.why };
}

function changedAt({ ctimeMs }: Stats): string {
  return new Date(ctimeMs).toISOString();
}

function processOf(run: FsRun, id: string): TaskView["process"] {
  const note = readNote(run, id);
  if (note === null || note.pid === 0 || !isClaimed(run, id, note)) return undefined;
  const { pid, host } = note;
  return { pid, host, vitality: run.machine.vitality(note) };
}

export function readTaskAt(
  run: FsRun,
  path: string,
  id: string,
): { task: Task | null; reason?: string } {
  try {
    const file = readRegular(path, MAX_TASK_BYTES);
    return { task: file && parseIn(run, file, id) };
  } catch (error) {
    if (!isVivError(error)) throw error;
    return { task: null, reason: error.message };
  }
}

export function readSource(run: FsRun, rawId: string): string | null {
  const place = locate(run, assertName("task id", rawId));
  return place && (readRegular(place.path, MAX_TASK_BYTES)?.text ?? null);
}

function showQuarantined(run: FsRun, id: string): TaskView | null {
  const path = quarantinedOf(run.paths, id);
  const stats = statIfThere(path);
  if (!stats) return null;
  const text = readRegular(`${path}.reason`, 64 * 1024)?.text ?? "";
  const note = parseRecord(text) ?? { reason: text.trim() || undefined }; // a foreign note
  const reason = String(note.reason ?? "unknown");
  const since = changedAt(stats);
  return { id, type: null, state: "quarantined", task: null, since, history: [], reason };
}

/** Only the ledger has the attempt of a task that was done at once; and all of them, if they were lost. */
function historyFromLedger(run: FsRun, id: string): HistoryRecord[] {
  const records: HistoryRecord[] = [];
  const seen = new Set<string>();
  /** How often an end was recorded, less how often it was void: lines may come in any order. */
  const times = new Map<string, number>();
  for (const line of linesAbout(run.paths.ledger, id)) {
    const { task, event, outcome, to } = line;
    if (task !== id) continue;
    if (isDecision(line)) records.push(decisionFrom(line));
    if (event === "approved" && line.unproven) dropProof(records, line.unproven);
    if (line.token === undefined) continue;
    const key = endKeyOf(line);
    const count = (by: number) => times.set(key, (times.get(key) ?? 0) + by);
    if (event === "void") count(-1);
    if (event !== "ended" || !outcome || !to) continue;
    count(1);
    if (!seen.has(key)) records.push(attemptFrom(line));
    seen.add(key);
  }
  return records.filter((one) => !isAttempt(one) || (times.get(endKeyOf(one)) ?? 0) > 0);
}

function endKeyOf({ token, outcome }: { token?: string; outcome?: string }): string {
  return `${token} ${outcome}`;
}

export function attemptsOf(run: FsRun, id: string): AttemptRecord[] {
  return (showTask(run, id)?.history ?? []).filter(isAttempt);
}

interface FoundTask {
  id: string;
  path: string;
  worker?: string;
}

function* tasksIn(run: FsRun, state: TaskState): Generator<FoundTask> {
  const { paths } = run;
  if (state === "claimed") {
    yield* claimedTasks(paths);
    return;
  }
  const folder = paths.state[state];
  const handle = openFolder(folder);
  try {
    for (let entry = handle?.readSync(); entry; entry = handle?.readSync()) {
      const id = paths.layout.idOf(state, entry.name);
      if (isListedName(id)) yield { id, path: `${folder}/${entry.name}` };
    }
  } finally {
    handle?.closeSync();
  }
  if (handle && state === "done") yield* run.hooks?.doneByHand(run) ?? [];
}

/** Null: it is not there, or no folder. There is nothing to list; doctor reports it. */
function openFolder(folder: string): ReturnType<typeof opendirSync> | null {
  try {
    return opendirSync(folder, { bufferSize: 1024 });
  } catch {
    return null;
  }
}

/** As `tasksIn`, without a step in and out of a generator for each: of 100,000 names that is most. */
export function idsIn(run: FsRun, state: TaskState): string[] {
  const { paths } = run;
  if (state === "claimed") return [...claimedTasks(paths)].map(({ id }) => id);
  const handle = openFolder(paths.state[state]);
  if (handle === null) return [];
  const ids: string[] = [];
  try {
    for (let entry = handle.readSync(); entry !== null; entry = handle.readSync()) {
      const id = paths.layout.idOf(state, entry.name);
      if (isListedName(id)) ids.push(id);
    }
  } finally {
    handle.closeSync();
  }
  if (state === "done") for (const { id } of run.hooks?.doneByHand(run) ?? []) ids.push(id);
  return ids;
}

/** Null: one that is not wanted, or moved on while they were listed. */
export function* listTasks(run: FsRun, query: ListQuery): Generator<TaskSummary | null> {
  let left = query.limit ?? Number.POSITIVE_INFINITY;
  let recorded: Map<string, HistoryRecord[]> | undefined;
  const lostOf: LostHistory = (id) => {
    recorded ??= digestLedger(run).histories;
    return recorded.get(id);
  };
  for (const state of query.states ?? TASK_STATES) {
    if (left <= 0) return;
    const tasks = query.sorted ? yield* tasksByTime(run, state) : tasksIn(run, state);
    for (const found of tasks) {
      if (left <= 0) return;
      const summary = summaryOf(run, state, found, query, lostOf);
      if (summary !== null) left--;
      yield summary;
    }
  }
}

function summaryOf(
  run: FsRun,
  state: TaskState,
  { id, path, worker }: FoundTask,
  query: ListQuery,
  lostOf: LostHistory,
): TaskSummary | null {
  const stats = statIfThere(path);
  if (!stats) return null;
  const cancelled = (state === "failed" && isCancelled(run, id)) || undefined;
  if (state === "failed" && !isWanted(query, cancelled)) return null;
  const { task } = query.unopened ? { task: null } : readTaskAt(run, path, id);
  const type = task?.task_type ?? null;
  if (query.types && (type === null || !query.types.includes(type))) return null;
  const priority = task ? priorityOf(task) : undefined;
  const unproven =
    query.asksProof && task ? lackOfProof(run, state, task, query, lostOf) : undefined;
  const since = changedAt(stats);
  const summary = { id, type, state, since, worker, priority, unproven, cancelled };
  return query.tasks ? { ...summary, task } : summary;
}

function isWanted({ cancelled: wanted }: ListQuery, isCancelled: boolean | undefined): boolean {
  return wanted === undefined || wanted === (isCancelled === true);
}

type LostHistory = (id: string) => HistoryRecord[] | undefined;

/** A proof without a history: either that was lost, and the ledger has it, or it is none of ours. */
export function whyUnprovenIn(
  run: FsRun,
  id: string,
  doneWhen: unknown,
  lostOf: LostHistory = () => historyFromLedger(run, id),
): string | null {
  const proof = readProof(run, id);
  const history = readHistory(run, id);
  const isLost = history.length === 0 && proof?.exit === 0;
  return whyUnproven(doneWhen, proof, (isLost ? lostOf(id) : undefined) ?? history);
}

/** Done work without a valid proof, and work that was handed in and waits for one. */
function lackOfProof(
  run: FsRun,
  state: TaskState,
  { task_id: id, task_type: type, done_when }: Task,
  { asksProof }: ListQuery,
  lostOf: LostHistory,
): string | undefined {
  const doneWhen = done_when ?? (asksProof?.(type) ? "" : undefined);
  if (doneWhen === undefined) return undefined;
  if (state === "review" || state === "done") {
    return whyUnprovenIn(run, id, doneWhen, lostOf) ?? undefined;
  }
  return hasHistory(run, id) && isHandedIn(readHistory(run, id)) ? WAITS_FOR_PROOF : undefined;
}

/** Only their stamps are read: opening 100,000 files would take seconds. */
function* tasksByTime(run: FsRun, state: TaskState): Generator<null, FoundTask[]> {
  const found: (FoundTask & { at: number })[] = [];
  for (const task of tasksIn(run, state)) {
    const stats = statIfThere(task.path);
    if (stats) found.push({ ...task, at: stats.ctimeMs });
    yield null;
  }
  const sign = state === "done" || state === "failed" ? -1 : 1;
  return found.sort((a, b) => sign * (a.at - b.at || compareIds(a.id, b.id)));
}

export function countTasks(run: FsRun): Counts {
  const counts = {} as Counts;
  for (const state of TASK_STATES) counts[state] = idsIn(run, state).length;
  counts.cancelled = countCancelled(run);
  counts.quarantined = namesIn(run.paths.quarantine).filter((n) => !n.endsWith(".reason")).length;
  return counts;
}

export function viewWorkers(run: FsRun): WorkerView[] {
  const registered = namesIn(run.paths.workers).map(idOfNote).filter(isName);
  const names = new Set([...claimWorkers(run.paths), ...registered]);
  return [...names].sort().flatMap((name) => {
    const holdings = holdingsOf(run, name);
    const claims = holdings.flatMap((one) => one.claims);
    const heartbeat = readHeartbeat(run, name);
    const file = readWorkerFile(run, name) ?? undefined;
    // A worker that ended leaves an empty folder in claimed/.
    const paused = isName(name) ? readPause(run, name) : null; // of a foreign name: no claimer of ours
    if (claims.length === 0 && !heartbeat && !file && !paused) return [];
    const isAliveBy = (one: Holding) => isAlive(run, one.signs);
    const signs = (holdings.find(isAliveBy) ?? holdings[0])?.signs ?? vitalSigns(run, name, []);
    const { claimAge, heartbeatAge } = signs;
    const quiet = Math.min(heartbeatAge ?? claimAge, claimAge);
    return {
      name,
      claims: claims.map((c) => c.id),
      heartbeatAge: heartbeat ? Math.max(0, heartbeat.age / 1000) : null,
      quiet: claims.length > 0 || heartbeat ? Math.max(0, quiet / 1000) : null,
      alive: isAlive(run, signs),
      process: signs.process,
      identity: file && { host: file.host, boot: file.boot, pid: file.pid, started: file.started },
      types: file?.types ?? heartbeat?.types ?? null,
      note: heartbeat?.note ?? "",
      paused,
    };
  });
}

export function dependencyFacts(
  run: FsRun,
  { depends_on }: Pick<Task, "depends_on">,
): DependencyFact[] {
  return depends_on.map((id) => {
    const place = isName(id) ? locate(run, id) : null;
    const met = isMet(run, id, () => completedTasks(run));
    const stats = place ? statIfThere(place.path) : undefined;
    const quarantined = place === null && isName(id) && statIfThere(quarantinedOf(run.paths, id));
    return {
      id,
      met,
      state: place?.state ?? (quarantined ? "quarantined" : met ? "done" : "unknown"),
      cancelled: place?.state === "failed" && isCancelled(run, id) ? true : undefined,
      worker: place?.worker,
      since: stats && changedAt(stats),
    };
  });
}

/** A line is in the file of its own date, so files before `since` need no look. Null: nothing that is wanted. */
export function* ledgerLines(
  run: FsRun,
  { task, since = "", onTorn }: LedgerQuery,
): Generator<LedgerLine | null> {
  const first = since === "" ? "" : `${since.slice(0, 10)}.jsonl`;
  const lines =
    task === undefined
      ? readLedger(run.paths.ledger, first, onTorn)
      : searchFor(run.paths.ledger, task);
  for (const line of lines) {
    const isOther = line === null || (task !== undefined && line.task !== task);
    yield isOther || line.at < since ? null : line;
  }
}

export function followLedger(
  run: FsRun,
  { from = {} }: { from?: LedgerPosition | "end" } = {},
): LedgerNews {
  const { ledger } = run.paths;
  const follower = new RunLedgerFollower(ledger, from === "end" ? [] : Object.entries(from));
  if (from === "end") follower.skipPast();
  return {
    async *news() {
      yield* follower.lines();
    },
    position: () => follower.position,
    onNews: (act) => watchPaths([ledger], act, LEDGER_WATCH),
  };
}

/** Many lines within a second are one call; a lost notification costs a minute. */
const LEDGER_WATCH = { settleMs: 1_000, rescanMs: 60_000, isBackground: true };
