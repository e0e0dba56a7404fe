import { opendirSync } from "node:fs";
import type { ProcessIdentity } from "../../base/clock.ts";
import { isVivError } from "../../base/errors.ts";
import { assertName, isListedName, isName } from "../../base/names.ts";
import type { AttemptRecord } from "../attempt.ts";
import { isAttempt } from "../attempt.ts";
import type { LedgerLine } from "../ledger.ts";
import type { VitalSigns } from "../liveness.ts";
import { TASK_STATES, type TaskState } from "../states.ts";
import type {
  Counts,
  DependencyFact,
  LedgerNews,
  ListQuery,
  TaskSummary,
  TaskView,
  WorkerView,
} from "../store.ts";
import { MAX_TASK_BYTES, priorityOf, type Task } from "../task.ts";
import { claimedTasks, claimsOf, claimWorkers } from "./claims/claimed.ts";
import { isClaimed, readNote } from "./claims/process-notes.ts";
import { isAlive, readHeartbeat, readWorkerFile, vitalSigns } from "./claims/vital-signs.ts";
import { parseIn } from "./enqueue/task-file.ts";
import { namesIn, readRegular, statIfThere, tokenOf } from "./files/atomic.ts";
import { idOfNote, quarantinedOf } from "./layout.ts";
import { isMet, locate } from "./locate.ts";
import { readHistory } from "./record/attempts.ts";
import { LedgerFollower, linesAbout, readLedger } from "./record/ledger.ts";
import { completedTasks } from "./record/status.ts";
import type { FsRun } from "./run.ts";

/** Everything that only looks. Nothing here writes, so it works on a run one may only read. */

export function showTask(run: FsRun, rawId: string): TaskView | null {
  const id = assertName("task id", rawId);
  const place = locate(run, id);
  if (place === null) return showQuarantined(run, id);
  const stats = statIfThere(place.path);
  const { task, reason } = readTaskAt(run, place.path, id);
  const history = readHistory(run, id);
  return {
    id,
    state: place.state,
    task,
    since: new Date(stats?.ctimeMs ?? run.machine.clock.now()).toISOString(),
    history: history.length > 0 ? history : attemptsFromLedger(run, id),
    worker: place.worker,
    token: place.worker && stats ? tokenOf(stats) : undefined,
    process: place.worker ? processOf(run, id) : undefined,
    reason,
  };
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
  const note = readRegular(`${path}.reason`, 64 * 1024);
  let reason = "unknown";
  try {
    reason = String((JSON.parse(note?.text ?? "{}") as { reason?: string }).reason ?? reason);
  } catch {
    reason = note?.text.trim() || reason; // a foreign note
  }
  const since = new Date(stats.ctimeMs).toISOString();
  return { id, state: "quarantined", task: null, since, history: [], reason };
}

/** For a task that was done at its first attempt, only the ledger knows by whom. */
function attemptsFromLedger(run: FsRun, id: string): AttemptRecord[] {
  const attempts = new Map<string, AttemptRecord>();
  /** How often it was recorded, less how often that was void: lines may come in any order. */
  const times = new Map<string, number>();
  for (const line of linesOf(run, id)) {
    if (line.task !== id || line.token === undefined) continue;
    const key = `${line.token} ${line.outcome}`;
    if (line.event === "void") times.set(key, (times.get(key) ?? 0) - 1);
    if (line.event !== "ended" || !line.outcome || !line.to) continue;
    times.set(key, (times.get(key) ?? 0) + 1);
    if (attempts.has(key)) continue;
    attempts.set(key, {
      attempt: line.attempt ?? 1,
      worker: line.worker ?? "?",
      token: line.token,
      outcome: line.outcome,
      to: line.to,
      at: line.at,
      note: line.note || undefined,
    });
  }
  return [...attempts].flatMap(([key, attempt]) => ((times.get(key) ?? 0) > 0 ? [attempt] : []));
}

export function attemptsOf(run: FsRun, id: string): AttemptRecord[] {
  return (showTask(run, id)?.history ?? []).filter(isAttempt);
}

function* tasksIn(
  { paths }: FsRun,
  state: TaskState,
): Generator<{ id: string; path: string; worker?: string }> {
  if (state === "claimed") {
    yield* claimedTasks(paths);
    return;
  }
  const folder = paths.state[state];
  let handle: ReturnType<typeof opendirSync>;
  try {
    handle = opendirSync(folder, { bufferSize: 256 });
  } catch {
    return; // not there, or not a folder: nothing to list, doctor says why
  }
  try {
    for (let entry = handle.readSync(); entry !== null; entry = handle.readSync()) {
      const id = paths.layout.idOf(state, entry.name);
      if (isListedName(id)) yield { id, path: `${folder}/${entry.name}` };
    }
  } finally {
    handle.closeSync();
  }
}

export function* listTasks(run: FsRun, query: ListQuery): Generator<TaskSummary> {
  let left = query.limit ?? Number.POSITIVE_INFINITY;
  for (const state of query.states ?? TASK_STATES) {
    for (const { id, path, worker } of tasksIn(run, state)) {
      if (left <= 0) return;
      const stats = statIfThere(path);
      if (!stats) continue; // moved on while we were listing
      const { task } = readTaskAt(run, path, id);
      const type = task?.task_type ?? null;
      if (query.types && (type === null || !query.types.includes(type))) continue;
      left--;
      yield {
        id,
        type,
        state,
        since: new Date(stats.ctimeMs).toISOString(),
        worker,
        priority: task ? priorityOf(task) : undefined,
      };
    }
  }
}

export function countTasks(run: FsRun): Counts {
  const counts = {} as Counts;
  for (const state of TASK_STATES) {
    counts[state] = 0;
    for (const _ of tasksIn(run, state)) counts[state]++;
  }
  counts.quarantined = namesIn(run.paths.quarantine).filter((n) => !n.endsWith(".reason")).length;
  return counts;
}

export function viewWorkers(run: FsRun): WorkerView[] {
  const registered = namesIn(run.paths.workers).map(idOfNote).filter(isName);
  const names = new Set([...claimWorkers(run.paths), ...registered]);
  return [...names].sort().map((name) => {
    const claims = claimsOf(run, name);
    const signs = vitalSigns(run, name, claims);
    const heartbeat = readHeartbeat(run, name);
    const file = readWorkerFile(run, name);
    return {
      name,
      claims: claims.map((c) => c.id),
      heartbeatAge: heartbeat ? Math.max(0, heartbeat.age / 1000) : null,
      quiet: quietFor(signs),
      alive: isAlive(run, signs),
      process: signs.process,
      identity: file ? identityOf(file) : undefined,
      types: file?.types ?? heartbeat?.types ?? null,
      note: heartbeat?.note ?? "",
    };
  });
}

function identityOf({ host, boot, pid, started }: ProcessIdentity): ProcessIdentity {
  return { host, boot, pid, started };
}

/** Seconds since the last sign of any kind. */
function quietFor({ heartbeatAge, claimAge }: VitalSigns): number {
  return Math.max(0, Math.min(heartbeatAge ?? claimAge, claimAge) / 1000);
}

export function dependencyFacts(run: FsRun, task: Task): DependencyFact[] {
  return task.depends_on.map((id) => {
    const place = isName(id) ? locate(run, id) : null;
    const met = isMet(run, id, () => completedTasks(run));
    const stats = place ? statIfThere(place.path) : undefined;
    const quarantined = place === null && isName(id) && statIfThere(quarantinedOf(run.paths, id));
    return {
      id,
      met,
      state: place?.state ?? (quarantined ? "quarantined" : met ? "done" : "unknown"),
      worker: place?.worker,
      since: stats && new Date(stats.ctimeMs).toISOString(),
    };
  });
}

export function* ledgerLines(
  run: FsRun,
  { task, since = "" }: { task?: string; since?: string },
): Generator<LedgerLine> {
  for (const line of task === undefined ? linesSince(run, since) : linesOf(run, task)) {
    if ((task === undefined || line.task === task) && !(line.at < since)) yield line;
  }
}

/** A line is in the file of its own date, so these need not be looked for in earlier ones. */
function* linesSince(run: FsRun, since: string): Generator<LedgerLine> {
  const file = since === "" ? "" : `${since.slice(0, 10)}.jsonl`;
  for (const { line } of readLedger(run.paths.ledger, { file })) yield line;
}

function linesOf(run: FsRun, task: string): Generator<LedgerLine> {
  return linesAbout(run.paths.ledger, `"task":${JSON.stringify(task)}`);
}

export function followLedger(run: FsRun): LedgerNews {
  const follower = new LedgerFollower(run.paths.ledger);
  return {
    async *news() {
      yield* follower.lines();
    },
  };
}
