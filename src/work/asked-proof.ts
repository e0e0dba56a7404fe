import type { Config } from "../base/section.ts";
import { isAttempt } from "../queue/attempt.ts";
import type { RunContext } from "../queue/operation.ts";
import { isHandedIn, WAITS_FOR_PROOF, whyUnproven } from "../queue/proof-state.ts";
import type { TaskView } from "../queue/store.ts";
import { routeFor } from "./config-route.ts";
import { type WorktreeContent, workerHostPort } from "./host.ts";

interface Asking {
  type: string | null;
  task: { done_when?: unknown } | null;
}

/** The command that proves a task: its own, else its route's in viv.toml. */
export function doneWhenOf(config: Config | undefined, view: Asking | null): string | undefined {
  const own = view?.task?.done_when;
  if (typeof own === "string") return own;
  return config && view?.type ? routeFor(config, view.type)?.doneWhen : undefined;
}

/** Why the work of a task is not proven; null when it is, or when nothing asks for that. */
export async function whyUnprovenNow(
  { store, here, use }: Pick<RunContext, "store" | "here" | "use">,
  view: TaskView,
): Promise<string | null> {
  const { state, history } = view;
  if (state === "pending" || state === "claimed" || state === "waiting") {
    return isHandedIn(history) ? WAITS_FOR_PROOF : null;
  }
  if (state !== "review" && state !== "done") return null;
  const doneWhen = doneWhenOf(here.config, view);
  if (doneWhen === undefined) return null;
  const why = whyUnproven(doneWhen, await store.proof(view.id), history);
  if (why !== null || state === "done") return why; // a done task's worktree may be gone, or go on
  const commit = history.findLast(isAttempt)?.commit;
  if (commit === undefined) return null;
  const { worktreeContent } = await use(workerHostPort);
  return otherContent(commit, (await worktreeContent?.(view.id)) ?? null);
}

function otherContent(proven: string, now: WorktreeContent | null): string | null {
  if (now === null) return null;
  if (now.commit !== proven) return "its branch has other commits since the proof";
  return now.isDirty ? "its worktree has other files since the proof" : null;
}
