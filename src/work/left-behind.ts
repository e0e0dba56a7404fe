import type { Store } from "../queue/store.ts";
import type { HeldBack } from "./held-back.ts";
import type { Reload } from "./reload.ts";

/** Tasks that `--drain` did not wait for: their route is held back. */
export interface LeftBehind {
  tasks: number;
  /** Each once. */
  reasons: string[];
}

interface Holds {
  types?: readonly string[] | null;
  /** A set-up that keeps failing, no room for a workspace. */
  spaces?: HeldBack | null;
  /** An edit of viv.toml that would fail every task. */
  reload?: Pick<Reload, "heldBack" | "isAny">;
}

/** Null when there are none. */
export async function leftBehind(
  store: Store,
  { types, spaces, reload }: Holds,
): Promise<LeftBehind | null> {
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
