import { extensionKey } from "../queue/store.ts";
import type { Task } from "../queue/task.ts";

/** What a layout changes about work on its tasks; the store of such a layout offers it. */
export interface WorkSite {
  /** Where handlers without a workspace run. */
  readonly folder: string;
  /** The file of a claimed task, which a handler may read and change. */
  taskFile(worker: string, id: string): string;
  /** The task as that file is now; null when it cannot be read. */
  readClaimed(worker: string, id: string): Promise<Task | null>;
  /** Is there a result without proof, whose task may come back? */
  hasUnprovenResults(): Promise<boolean>;
}

export const WORK_SITE = extensionKey<WorkSite>("work site");
