import { isVivError, unlessCorrupt } from "../../base/errors.ts";
import { describeLanding } from "../../merge/facts.ts";
import { readLanding } from "../../merge/landing.ts";
import type { HistoryRecord, Proof } from "../../queue/attempt.ts";
import type { RunContext } from "../../queue/operation.ts";
import type {
  DependencyFact,
  Pause,
  TaskSummary,
  TaskView,
  WorkerView,
} from "../../queue/store.ts";
import { taskJson } from "../../queue/task.ts";
import { explain, findCycle, type Held, type Reason } from "../../work/why.ts";
import { readRecord } from "../../work/workspaces/record.ts";
import { titleOf, whyUnproven } from "../report/read-run.ts";
import { betweenWords, type Excerpt, readExcerpt } from "./excerpt.ts";
import type { RecordOfTasks } from "./read-tasks.ts";

/** Everything that the page of a task shows. */
export interface TaskDetail {
  title: string;
  reasons: Reason[];
  history: HistoryRecord[];
  proof: Proof | null;
  doneWhen: string | null;
  dependencies: readonly DependencyFact[];
  artifact: Excerpt | null;
  log: Excerpt | null;
  payload: string | null;
}

export interface Included {
  artifacts: boolean;
  logs: boolean;
  payloads: boolean;
}

/** Read once for all tasks. */
export interface Around {
  held: Held;
  workers: readonly WorkerView[];
  inReview: number;
  paused: Pause | null;
  record: RecordOfTasks;
  included: Included;
}

const ARTIFACT_BYTES = 128 * 1024;
const LOG_BYTES = 32 * 1024;
const PAYLOAD_CHARACTERS = 64 * 1024;

/** Null when the task is gone meanwhile. */
export async function readDetail(
  { store, now }: RunContext,
  { id }: TaskSummary,
  { held, workers, inReview, paused, record, included }: Around,
): Promise<TaskDetail | null> {
  const view = await store.show(id);
  if (view === null) return null;
  // Not its history: of a task that was done at once, that would read the ledger.
  const { type, state, cancelled, task, worker, since, reason } = view;
  const isQueued = state === "waiting" || state === "pending";
  const history = record.historyOf(id);
  const dependencies = isQueued && task ? await store.dependencies(task) : [];
  const proof = await store.proof(id);
  const ofType = task?.task_type ?? "";
  const lastNote = record.factsOf(id)?.last?.note;
  const reasons = explain({
    ...{ id, state, cancelled, task, worker, since, reason, history, dependencies },
    ...{ workers, inReview, paused, lastNote, now: now() },
    cycle: isQueued && task ? await findCycle(store, view) : null,
    account: held.accountOf?.(ofType),
    budget: held.budgetOf?.(ofType),
    gate: held.gateOf?.(ofType),
    workspace: isQueued ? held.workspaceOf?.(ofType) : null,
    route: held.routeOf?.(ofType),
    reviewLimit: held.reviewLimit,
    landing: state === "done" ? landingFrom(store, id) : null,
    unproven: unprovenOf(view, proof, record),
  });
  const file = (name: string, from: "start" | "end", most: number) => {
    const path = store.artifacts.pathOnThisHost(name);
    return path === null ? null : readExcerpt(path, from, most);
  };
  return {
    ...{ title: titleOf(task), reasons, history, proof, dependencies },
    doneWhen: typeof task?.done_when === "string" ? task.done_when : null,
    artifact: included.artifacts ? file(`${id}.md`, "start", ARTIFACT_BYTES) : null,
    log: included.logs ? file(`${id}.log`, "end", LOG_BYTES) : null,
    payload: included.payloads && task && type !== null ? payloadOf(taskJson(task)) : null,
  };
}

function payloadOf({ payload }: Record<string, unknown>): string {
  const text = JSON.stringify(payload ?? {}, null, 2);
  if (text.length <= PAYLOAD_CHARACTERS) return text;
  return `${betweenWords(text.slice(0, PAYLOAD_CHARACTERS), "start")}…`;
}

function unprovenOf(view: TaskView, proof: Proof | null, record: RecordOfTasks): string | null {
  const { id, state, task } = view;
  if ((state !== "done" && state !== "review") || task?.done_when === undefined) return null;
  const last = record.factsOf(id)?.last ?? null;
  return whyUnproven(proof, last?.to === state ? last : null, task);
}

/** Without git: what the queue has recorded. */
function landingFrom(
  { folder, workspaces }: { folder: string; workspaces: string },
  id: string,
): Reason | null {
  const landing = unlessCorrupt(() => readLanding(folder, id)) ?? null;
  const made = landing === null ? branchAt(workspaces, id) : null;
  const branch = landing?.branch ?? made;
  if (branch === null) return null;
  return describeLanding(id, landing, { isEmpty: false, isElsewhere: false, branch });
}

function branchAt(workspaces: string, id: string): string | null {
  try {
    const record = readRecord(workspaces, id);
    return record?.kind === "worktree" ? record.branch : null;
  } catch (error) {
    if (isVivError(error)) return null; // `viv workspaces` reports it
    throw error;
  }
}
