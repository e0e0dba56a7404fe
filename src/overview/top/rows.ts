import type { TaskWord } from "../../queue/states.ts";
import type { TaskRow } from "./snapshot.ts";

/** By what matters: what happens, what needs a person, what comes, what is over. */
export const ORDER: readonly TaskWord[] = [
  ...(["claimed", "review", "failed", "pending", "waiting", "done", "cancelled"] as const),
];

export const SORTS = ["state", "age", "id", "type", "worker"] as const;
export type Sort = (typeof SORTS)[number];

export interface Choice {
  filter: string;
  sort: Sort;
  isReversed: boolean;
  isTree: boolean;
}

/** A row of the table; in a tree, how deep it stands and whether it is the last there. */
export interface ShownTask extends TaskRow {
  branch: string;
}

/** The tasks to show, in their order. */
export function shownTasks(tasks: readonly TaskRow[], choice: Choice): ShownTask[] {
  const words = choice.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length === 0 ? [...tasks] : tasks.filter((task) => matches(task, words));
  const sign = choice.isReversed ? -1 : 1;
  // Stable: within equals the order of reading stays.
  const compare = COMPARE[choice.sort];
  found.sort((a, b) => sign * compare(a, b));
  if (choice.isTree) return asTree(found);
  return found.map((task) => ({ ...task, branch: "" }));
}

/** All words, each in its id, type, worker, title or state. */
export function matches(
  { id, type, worker = "", title = "", state }: TaskRow,
  words: readonly string[],
): boolean {
  const all = `${id} ${type ?? ""} ${worker} ${title} ${NAMES[state]}`.toLowerCase();
  return words.every((word) => all.includes(word));
}

/** As the page calls them. */
export const NAMES: Readonly<Record<TaskWord, string>> = {
  waiting: "waiting",
  pending: "ready",
  claimed: "working",
  review: "review",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
};

const text = (a = "", b = "") => (a < b ? -1 : a > b ? 1 : 0);

const COMPARE: Readonly<Record<Sort, (a: TaskRow, b: TaskRow) => number>> = {
  state: (a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state),
  age: (a, b) => text(b.since, a.since),
  id: (a, b) => text(a.id, b.id),
  type: (a, b) => text(a.type ?? "", b.type ?? ""),
  // Those without one come last.
  worker: (a, b) => text(a.worker ?? "\uffff", b.worker ?? "\uffff"),
};

/** Each below the first of its parent and dependencies that is shown. */
function asTree(tasks: readonly TaskRow[]): ShownTask[] {
  const shown = new Set(tasks.map(({ id }) => id));
  const below = new Map<string | null, TaskRow[]>();
  for (const task of tasks) {
    const above = task.above?.find((id) => id !== task.id && shown.has(id)) ?? null;
    const siblings = below.get(above);
    if (siblings) siblings.push(task);
    else below.set(above, [task]);
  }
  const rows: ShownTask[] = [];
  const seen = new Set<string>();
  const walk = (roots: readonly TaskRow[]) => {
    // Not recursive: a chain of tasks may be longer than the engine's stack.
    const open = [...roots].reverse().map((task) => ({ task, branch: "", lead: "" }));
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { task, branch, lead } = next;
      if (seen.has(task.id)) continue;
      seen.add(task.id);
      rows.push({ ...task, branch });
      const children = below.get(task.id) ?? [];
      children.toReversed().forEach((child, i) => {
        const [turn, further] = i === 0 ? ["└─", "  "] : ["├─", "│ "];
        open.push({ task: child, branch: `${lead}${turn}`, lead: `${lead}${further}` });
      });
    }
  };
  walk(below.get(null) ?? []);
  for (const task of tasks) if (!seen.has(task.id)) walk([task]); // tasks that need each other
  return rows;
}
