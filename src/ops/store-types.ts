/** The part of the store's vocabulary that renderings of operations may know. */
export type {
  Counts,
  Store,
  TaskSummary,
  WorkerView,
} from "../store/store.ts";
