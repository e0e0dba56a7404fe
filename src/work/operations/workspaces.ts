import * as z from "zod/mini";
import { list } from "../../operation/fields.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { anyState } from "../../queue/schemas.ts";
import { wordOf } from "../../queue/states.ts";
import { workerHostPort } from "../host.ts";
import { removedWorkspace, workspaceInfo } from "../workspaces/record.ts";

export const workspaces = defineRunOperation({
  name: "workspaces",
  summary: "folders and git worktrees of tasks; gc removes those of ended tasks",
  access: "read",
  input: z.strictObject({
    action: z.optional(
      z.enum(["ls", "gc"]).check(z.describe("ls (default), or gc to remove those of ended tasks")),
    ),
    id: list("id of the task (or several; only their workspaces)"),
  }),
  output: z.object({
    workspaces: z.array(
      z.extend(workspaceInfo, {
        type: z.nullable(z.string()),
        state: z.nullable(anyState),
      }),
    ),
    gc: z.optional(z.array(removedWorkspace)),
    /** Tasks whose engines' files (homes in sandboxes, conversations) gc has removed. */
    homes: z.optional(z.array(z.string())),
  }),
  async run({ store, use }, { action, id: wanted }) {
    const machine = await use(workerHostPort);
    const found = (await machine.listWorkspaces()).filter(({ id }) => wanted?.includes(id) ?? true);
    const all = [];
    for (const one of found) {
      const view = await store.show(one.id);
      all.push({ ...one, type: view?.type ?? null, state: view && wordOf(view) });
    }
    if (action !== "gc") return { workspaces: all };
    const gc = [];
    for (const { id, state } of all) {
      if (isOver(state)) gc.push(await machine.removeWorkspace(id));
      else gc.push({ id, removed: false, reason: `the task is ${state}` });
    }
    const homes = [];
    for (const id of machine.artifacts.listSessions()) {
      if (wanted?.includes(id) === false) continue;
      if (!isOver((await store.show(id))?.state ?? null)) continue;
      await machine.artifacts.removeSessions(id);
      homes.push(id);
    }
    const gone = new Set(gc.filter(({ removed }) => removed).map(({ id }) => id));
    return { workspaces: all.filter(({ id }) => !gone.has(id)), gc, homes };
  },
});

/** No worker works there again, unless a person retries the task. */
function isOver(state: z.output<typeof anyState> | null): boolean {
  return state === null || ["done", "failed", "cancelled"].includes(state);
}
