import { dirname, join, relative } from "node:path";
import { isVivError } from "../base/errors.ts";
import { linkSync, removeSync, renameSync } from "../platform/files/beneath.ts";
import type { RunCheck, Store } from "../queue/store.ts";
import { readRecord, recordedIn, recordPath } from "../work/workspaces/record.ts";
import { forgePath, readForgeRecord, tasksOnForges } from "./forge/record.ts";
import { landingPath, readLanding, tasksWithLanding, writeLanding } from "./landing.ts";
import { rebuiltLanding } from "./rebuild.ts";

interface Kind {
  name: string;
  ids: readonly string[];
  path(id: string): string;
  read(id: string): unknown;
  /** Writes it anew; false when nothing is known of it. */
  rebuild?(id: string): Promise<boolean>;
  repair: string;
}

/** Files about a task's branch that cannot be read, and so stop all that would be done about it. */
export function checkRecords(store: Store): RunCheck {
  const kinds = kindsIn(store);
  return async ({ find, quarantine }) => {
    for (const kind of kinds) {
      for (const id of kind.ids.filter((one) => isUnreadable(kind, one))) {
        const path = kind.path(id);
        const message = `the ${kind.name} of ${id} cannot be read`;
        const repair = `move it to quarantine/; ${kind.repair}`;
        const finding = { code: "unreadable" as const, message, repair };
        await find({ ...finding, path: relative(store.folder, path) }, async () => {
          // Not under its own name, which would be a task's in the quarantine. What is known comes in
          // its place before it goes there: killed in between, nothing lands a second time.
          const aside = join(dirname(path), `.${id}.${kind.name}`);
          quarantine(aside, message);
          setAside(path, aside);
          if (!(await kind.rebuild?.(id))) removeSync(path);
          return quarantine(aside, message);
        });
      }
    }
  };
}

function kindsIn(store: Store): Kind[] {
  const { folder, workspaces: root } = store;
  return [
    {
      ...{ name: "landing", ids: tasksWithLanding(folder) },
      path: (id) => landingPath(folder, id),
      read: (id) => readLanding(folder, id),
      rebuild: async (id) => {
        const known = await rebuiltLanding(store, id);
        if (known !== null) writeLanding(folder, known);
        return known !== null;
      },
      repair: "a landed task stays landed by the ledger, any other is queued again",
    },
    {
      ...{ name: "forge-record", ids: tasksOnForges(folder) },
      path: (id) => forgePath(folder, id),
      read: (id) => readForgeRecord(folder, id),
      repair: "viv pr finds the pull request by its branch",
    },
    {
      ...{ name: "workspace-record", ids: recordedIn(root) },
      path: (id) => recordPath(root, id),
      read: (id) => readRecord(root, id),
      repair: "its worktree, if it is there, goes on with the branch that it is on",
    },
  ];
}

function isUnreadable({ read }: Kind, id: string): boolean {
  try {
    read(id);
    return false;
  } catch (error) {
    if (isVivError(error, "CORRUPT")) return true;
    throw error;
  }
}

/** A second name, so that the first is never without a file; a folder cannot have two. */
function setAside(path: string, aside: string): void {
  try {
    linkSync(path, aside);
  } catch {
    renameSync(path, aside);
  }
}
