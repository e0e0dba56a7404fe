/** The part of the store's vocabulary that renderings of operations may know. */

export type { Accounts } from "../../engines/accounts/accounts.ts";
export type { WorkerHost } from "../../work/host.ts";
export type { WorkerEvent } from "../../work/worker.ts";
export type {
  Counts,
  Durability,
  Store,
  TaskSummary,
  WorkerView,
} from "../store.ts";
