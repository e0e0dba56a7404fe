import * as z from "zod/mini";
import { list } from "../../operation/fields.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { anyState } from "../../queue/schemas.ts";
import type { TaskView } from "../../queue/store.ts";
import { workerHostPort } from "../host.ts";

const workspace = z.object({
  id: z.string(),
  state: z.nullable(anyState),
  kind: z.enum(["dir", "worktree"]),
  path: z.string(),
  branch: z.optional(z.string()),
  repository: z.optional(z.string()),
  dirty: z.boolean(),
  ahead: z.number(),
  merged: z.boolean(),
  missing: z.boolean(),
  bytes: z.number(),
});

export const workspaces = defineRunOperation({
  name: "workspaces",
  summary: "folders and git worktrees of tasks; gc removes those of ended tasks",
  access: "read",
  input: z.strictObject({
    action: z.optional(
      z.enum(["ls", "gc"]).check(z.describe("ls (default), or gc to remove those of ended tasks")),
    ),
    id: list("only workspaces of these tasks"),
  }),
  output: z.object({
    workspaces: z.array(workspace),
    gc: z.optional(
      z.array(
        z.object({
          id: z.string(),
          removed: z.boolean(),
          archived: z.optional(z.string()),
          branch_kept: z.optional(z.string()),
          reason: z.optional(z.string()),
        }),
      ),
    ),
    /** Of which tasks gc has removed what their engines kept: homes in sandboxes, conversations. */
    homes: z.optional(z.array(z.string())),
  }),
  async run({ store, use }, { action, id: wanted }) {
    const machine = await use(workerHostPort);
    const found = (await machine.listWorkspaces()).filter(({ id }) => wanted?.includes(id) ?? true);
    const all = [];
    for (const one of found) all.push({ ...one, state: (await store.show(one.id))?.state ?? null });
    if (action !== "gc") return { workspaces: all };
    const gc = [];
    for (const { id, state } of all) {
      if (!isOver(state)) {
        gc.push({ id, removed: false, reason: `the task is ${state}` });
        continue;
      }
      const { branchKept, ...rest } = await machine.removeWorkspace(id);
      gc.push({ ...rest, branch_kept: branchKept });
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

/** Nobody will work there again, unless a person sends the task round again. */
function isOver(state: TaskView["state"] | null): boolean {
  return state === null || state === "done" || state === "failed";
}
