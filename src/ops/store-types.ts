/** The part of the store's vocabulary that renderings of operations may know. */
export type {
  BulkResult,
  Change,
  Counts,
  Store,
  TaskSummary,
  WorkerView,
} from "../store/store.ts";
