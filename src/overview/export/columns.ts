import { createHash } from "node:crypto";
import type { TaskState } from "../../queue/states.ts";
import type { TaskSummary } from "../../queue/store.ts";

/** The columns of the board (§29), in their order. */
export const COLUMNS = [
  { name: "waiting", state: "waiting", label: "Waiting" },
  { name: "ready", state: "pending", label: "Ready" },
  { name: "working", state: "claimed", label: "Working" },
  { name: "review", state: "review", label: "Review" },
  { name: "done", state: "done", label: "Done" },
  { name: "failed", state: "failed", label: "Failed" },
] as const satisfies readonly { name: string; state: TaskState; label: string }[];

export type Column = (typeof COLUMNS)[number];

export type FilledColumn = Column & { tasks: readonly TaskSummary[] };

export function columnOf(state: TaskState): Column {
  return COLUMNS.find((one) => one.state === state) ?? COLUMNS[0];
}

/** Tasks on a page of a column. */
export const PAGE_SIZE = 200;
/** Of each column, on the board itself. */
export const BOARD_SIZE = 40;

export function pagesOf(count: number): number {
  return Math.max(1, Math.ceil(count / PAGE_SIZE));
}

export function columnFile(name: string, page: number): string {
  return `board/${name}-${page}.html`;
}

/**
 * The file of a task's page. The end keeps ids apart that differ in case only, or in characters that
 * a file system or a web server does not take. `shown`: the id as it may be published.
 */
export function taskFile(id: string, shown: string): string {
  const readable = shown
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 60)
    .replace(/^-+|-+$/g, "");
  const end = createHash("sha256").update(id).digest("hex").slice(0, 10);
  return `tasks/${readable === "" ? "task" : readable}-${end}.html`;
}
