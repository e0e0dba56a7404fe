import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { idWord } from "../../base/names.ts";
import { flag, list } from "../../operation/fields.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { anyState } from "../../queue/schemas.ts";
import { wordOf } from "../../queue/states.ts";
import { limitsSection } from "../config-route.ts";
import { type LandedAs, workerHostPort, workspaceUsePort } from "../host.ts";
import { removedWorkspace, type WorkspaceInfo, workspaceInfo } from "../workspaces/record.ts";
import { setupFailure } from "../workspaces/setup-failures.ts";

export const workspaces = defineRunOperation({
  name: "workspaces",
  summary: "folders and git worktrees of tasks; gc removes those whose work has landed",
  access: "read",
  input: z.strictObject({
    action: z.optional(
      z
        .enum(["ls", "gc", "retry"])
        .check(
          z.describe(
            "ls (default), gc to remove those whose work has landed, or retry to try failed set-ups again",
          ),
        ),
    ),
    id: list("id of the task (or several; gc removes theirs with a patch of what has not landed)"),
    setups: flag("gc: also what set-ups made for later workspaces"),
  }),
  changes: ({ action = "ls" }) => action !== "ls",
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
    const all: Found[] = [];
    for (const one of found) {
      const view = await store.show(one.id);
      const way = one.kind === "worktree" ? await machine.landedAs?.(one.id) : null;
      const isLanded = way?.isThere === true && (one.head ?? way.head) === way.head;
      const landed = isLanded ? way.target : undefined;
      all.push({ ...one, type: view?.type ?? null, state: view && wordOf(view), landed, way });
    }
    const shown = () => all.map(({ way: _, ...one }) => one);
    if (action !== "gc") return { workspaces: shown(), ...rest(all) };
    const gc = [];
    const kept = new Map<string, Found>();
    const isNamed = wanted !== undefined;
    for (const one of all) {
      // To look at all of them may have taken minutes: a task may be at work again by now.
      const view = await store.show(one.id);
      const reason = whyKept({ ...one, state: view && wordOf(view) }, isNamed);
      const landed = one.landed === undefined ? undefined : one.way?.head;
      const done =
        reason === null
          ? await machine.removeWorkspace(one.id, landed, { isOnlySpent: !isNamed })
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
    const removed = setups ? (await disk.removeKept()).map(({ key }) => key) : undefined;
    const left = shown().filter(({ id }) => kept.has(id));
    return { workspaces: left, gc, homes, removed_setups: removed, ...rest(left) };
  },
});

interface Found extends WorkspaceInfo {
  type: string | null;
  state: z.output<typeof anyState> | null;
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
  if (way?.isThere === null) {
    return `it has landed in ${way.target}, by a commit that is not here yet: git fetch; or ${anyway}`;
  }
  if (way?.isThere === false) return `it has landed, and is no longer in ${way.target}; ${anyway}`;
  return `its work has not landed: viv merge ${idWord(id)}; or ${anyway}`;
}

/** No worker works there again, unless a person retries the task. */
function isOver(state: z.output<typeof anyState> | null): boolean {
  return state === null || ["done", "failed", "cancelled"].includes(state);
}
