/**
 * Vivarium's library: open a run, enqueue, claim, finish, watch. The only module that wires
 * implementations together; what it exports is the public API.
 */
import { localMachine } from "./host/machine.ts";
import type { Machine } from "./model/clock.ts";
import { FsStore } from "./store/fs/fs-store.ts";
import { type OpenOptions, openFsRun } from "./store/fs/open.ts";
import type { Store } from "./store/store.ts";

export type { AttemptRecord, HistoryRecord, Outcome } from "./model/attempt.ts";
export { type ErrorCode, isVivError, VivError } from "./model/errors.ts";
export type { LedgerLine } from "./model/ledger.ts";
export type { TaskSpec } from "./model/spec.ts";
export { mermaid, TASK_STATES, type TaskState, TRANSITIONS } from "./model/states.ts";
export type { RunStatus } from "./model/status.ts";
export type { Priority, Task } from "./model/task.ts";
export type { OpenOptions } from "./store/fs/open.ts";
export type * from "./store/store.ts";

/** Opens the run at `path`. Close it when done: that brings status.json up to date. */
export async function openRun(
  path: string,
  options: OpenOptions & { machine?: Machine } = {},
): Promise<Store> {
  const { machine = localMachine(), ...rest } = options;
  return new FsStore(openFsRun(path, machine, rest));
}
