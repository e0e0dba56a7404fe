/**
 * Vivarium's library: open a run, enqueue, claim, finish, watch. What this module exports is the
 * public API.
 */
export { crewPorts } from "./app/crew-host.ts";
export { openRun } from "./app/open-run.ts";
export { upHost } from "./app/up-host.ts";
export { accountsHere, enginesHere, gateHere, workerHost } from "./app/worker-host.ts";
export { type ErrorCode, isVivError, VivError } from "./base/errors.ts";
export { followLedgers, type LedgerSource, type LedgersNews } from "./ledger/follow.ts";
export type { Entry } from "./ledger/line.ts";
export { sealDays } from "./ledger/seal.ts";
export { verifyLedger } from "./ledger/verify.ts";
export type { HandResult, PitStore } from "./pit/pit-store.ts";
export type { AttemptRecord, HistoryRecord, Outcome } from "./queue/attempt.ts";
export type { OpenOptions } from "./queue/fs/open-fs-run.ts";
export type { LedgerLine } from "./queue/ledger.ts";
export type { TaskSpec } from "./queue/spec.ts";
export { mermaid, TASK_STATES, type TaskState, TRANSITIONS } from "./queue/states.ts";
export type * from "./queue/store.ts";
export type { Priority, Task } from "./queue/task.ts";
