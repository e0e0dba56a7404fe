import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { flag, list } from "../../operation/fields.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { anyState } from "../../queue/schemas.ts";
import type { TaskView } from "../../queue/store.ts";
import { limitsSection } from "../config-route.ts";
import { workerHostPort, workspaceUsePort } from "../host.ts";
import { removedWorkspace, workspaceInfo } from "../workspaces/record.ts";
import { setupFailure } from "../workspaces/setup-failures.ts";

export const workspaces = defineRunOperation({
  name: "workspaces",
  summary: "folders and git worktrees of tasks; gc removes those of ended tasks",
  access: "read",
  input: z.strictObject({
    action: z.optional(
      z
        .enum(["ls", "gc", "retry"])
        .check(
          z.describe(
            "ls (default), gc to remove those of ended tasks, or retry to try failed set-ups again",
          ),
        ),
    ),
    id: list("id of the task (or several; only their workspaces)"),
    setups: flag("gc: also what set-ups made for later workspaces"),
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
    /** On the disk, with what set-ups made. */
    bytes: z.number(),
    limit: z.optional(z.number()),
    /** What set-ups made, for later workspaces. */
    setups: z.array(
      z.object({ key: z.string(), command: z.string(), bytes: z.number(), used_at: z.string() }),
    ),
    /** Their keys. */
    removed_setups: z.optional(z.array(z.string())),
    /** Of routes whose set-up failed at last. */
    setup_failures: z.optional(z.array(setupFailure)),
    /** Types whose set-up is tried again. */
    retried: z.optional(z.array(z.string())),
  }),
  async run({ store, use, here }, { action, id: wanted, setups }) {
    if (setups && action !== "gc") {
      throw new VivError("USAGE", "--setups goes only with gc: viv workspaces gc --setups");
    }
    const machine = await use(workerHostPort);
    const disk = await use(workspaceUsePort);
    const limit = here.config?.section(limitsSection).workspaceBytes;
    if (action === "retry") {
      const retried = disk.failures().map(({ type }) => type);
      for (const type of retried) disk.forgetFailure(type);
      return { workspaces: [], bytes: disk.space().used, limit, setups: [], retried };
    }
    const rest = (shown: readonly { bytes: number }[]) => {
      const kept = disk.kept().map(({ paths: _, made_at, ...one }) => one);
      const bytes = [...shown, ...kept].reduce((sum, one) => sum + one.bytes, 0);
      const failures = disk.failures();
      const setup_failures = failures.length > 0 ? failures : undefined;
      return { bytes, limit, setups: kept, setup_failures };
    };
    const found = (await machine.listWorkspaces()).filter(({ id }) => wanted?.includes(id) ?? true);
    const all = [];
    for (const one of found) {
      const { type = null, state = null } = (await store.show(one.id)) ?? {};
      all.push({ ...one, type, state });
    }
    if (action !== "gc") return { workspaces: all, ...rest(all) };
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
    const removed = setups ? (await disk.removeKept()).map(({ key }) => key) : undefined;
    const left = all.filter(({ id }) => !gone.has(id));
    return { workspaces: left, gc, homes, removed_setups: removed, ...rest(left) };
  },
});

/** No worker works there again, unless a person retries the task. */
function isOver(state: TaskView["state"] | null): boolean {
  return state === null || state === "done" || state === "failed";
}
