import * as z from "zod/mini";
import { idWord } from "../../base/names.ts";
import { list } from "../../operation/fields.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { anyState } from "../../queue/schemas.ts";
import type { TaskView } from "../../queue/store.ts";
import { type LandedAs, workerHostPort } from "../host.ts";
import { removedWorkspace, type WorkspaceInfo, workspaceInfo } from "../workspaces/record.ts";

export const workspaces = defineRunOperation({
  name: "workspaces",
  summary: "folders and git worktrees of tasks; gc removes those whose work has landed",
  access: "read",
  input: z.strictObject({
    action: z.optional(
      z
        .enum(["ls", "gc"])
        .check(z.describe("ls (default), or gc to remove those whose work has landed")),
    ),
    id: list("id of the task (or several; gc removes theirs with a patch of what has not landed)"),
  }),
  output: z.object({
    workspaces: z.array(
      z.extend(workspaceInfo, {
        type: z.nullable(z.string()),
        state: z.nullable(anyState),
        /** The target branch that has its work. */
        landed: z.optional(z.string()),
      }),
    ),
    gc: z.optional(z.array(removedWorkspace)),
    /** Tasks whose engines' files (homes in sandboxes, conversations) gc has removed. */
    homes: z.optional(z.array(z.string())),
  }),
  async run({ store, use }, { action, id: wanted }) {
    const machine = await use(workerHostPort);
    const found = (await machine.listWorkspaces()).filter(({ id }) => wanted?.includes(id) ?? true);
    const all: Found[] = [];
    for (const one of found) {
      const { type = null, state = null } = (await store.show(one.id)) ?? {};
      const way = one.kind === "worktree" ? await machine.landedAs?.(one.id) : null;
      const isLanded = way?.isThere === true && (one.head ?? way.head) === way.head;
      all.push({ ...one, type, state, landed: isLanded ? way.target : undefined, way });
    }
    const shown = () => all.map(({ way: _, ...one }) => one);
    if (action !== "gc") return { workspaces: shown() };
    const gc = [];
    const kept = new Map<string, Found>();
    for (const one of all) {
      const reason = whyKept(one, wanted !== undefined);
      const landed = one.landed === undefined ? undefined : one.way?.head;
      const done =
        reason === null
          ? await machine.removeWorkspace(one.id, landed)
          : { id: one.id, removed: false, reason };
      gc.push(done);
      if (!done.removed) kept.set(one.id, one);
    }
    const homes = [];
    for (const id of machine.artifacts.listSessions()) {
      // An engine goes on with its conversation when the task comes back.
      if (wanted?.includes(id) === false || kept.get(id)?.kind === "worktree") continue;
      if (!isOver((await store.show(id))?.state ?? null)) continue;
      await machine.artifacts.removeSessions(id);
      homes.push(id);
    }
    return { workspaces: shown().filter(({ id }) => kept.has(id)), gc, homes };
  },
});

interface Found extends WorkspaceInfo {
  type: string | null;
  state: TaskView["state"] | null;
  landed?: string;
  way?: LandedAs | null;
}

/** Null: gc removes it. Without being named, only what has landed, or holds no work at all. */
function whyKept(one: Found, isNamed: boolean): string | null {
  const { id, state, kind, dirty, merged, missing, landed, commits, way } = one;
  if (!isOver(state)) return `the task is ${state}`;
  if (isNamed || missing) return null;
  const anyway = `remove it, with a patch, by its name: viv workspaces gc ${idWord(id)}`;
  if (kind === "dir") return dirty ? `it has files; ${anyway}` : null;
  if (dirty) return `it has uncommitted changes; ${anyway}`;
  if (landed !== undefined || merged || commits === 0) return null;
  if (way && !way.isThere) return `it has landed, and is no longer in ${way.target}; ${anyway}`;
  return `its work has not landed: viv merge ${idWord(id)}; or ${anyway}`;
}

/** No worker works there again, unless a person retries the task. */
function isOver(state: TaskView["state"] | null): boolean {
  return state === null || state === "done" || state === "failed";
}
