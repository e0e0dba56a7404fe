import { workerPauseLine } from "../queue/pause-line.ts";
import type { Store } from "../queue/store.ts";
import type { HeldBack } from "./held-back.ts";
import type { Reload } from "./reload.ts";

/** Tasks that `--drain` did not wait for: their route is held back, or the worker is paused. */
export interface LeftBehind {
  tasks: number;
  /** Each once. */
  reasons: string[];
}

interface Holds {
  worker: string;
  types?: readonly string[] | null;
  /** A set-up that keeps failing, no room for a workspace. */
  spaces?: HeldBack | null;
  /** An edit of viv.toml that would fail every task. */
  reload?: Pick<Reload, "heldBack" | "isAny">;
}

/** Null when there are none. */
export async function leftBehind(
  store: Store,
  { worker, types, spaces, reload }: Holds,
): Promise<LeftBehind | null> {
  const paused = await store.paused(worker);
  if (paused !== null) {
    let tasks = 0;
    const states = ["pending"] as const;
    for await (const _ of store.list({ states, types: types ?? undefined })) tasks++;
    return tasks === 0 ? null : { tasks, reasons: [workerPauseLine(worker, paused)] };
  }
  await spaces?.refresh();
  if (!spaces?.all.size && !reload?.isAny) return null;
  const reasons = new Set<string>();
  let tasks = 0;
  const wanted = { states: ["pending", "waiting"] as const, types: types ?? undefined };
  for await (const { type } of store.list(wanted)) {
    const hold = type === null ? null : (reload?.heldBack(type) ?? spaces?.of(type)?.text ?? null);
    if (hold === null) continue;
    tasks++;
    reasons.add(hold);
  }
  return tasks === 0 ? null : { tasks, reasons: [...reasons] };
}
