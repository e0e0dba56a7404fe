/** The part of the store's vocabulary that renderings of operations may know. */

export type { Accounts } from "../services/accounts.ts";
export type { WorkerHost } from "../services/worker/host.ts";
export type { WorkerEvent } from "../services/worker/worker.ts";
export type {
  Counts,
  Durability,
  Store,
  TaskSummary,
  WorkerView,
} from "../store/store.ts";
