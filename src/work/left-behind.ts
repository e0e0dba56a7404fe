import type { Store } from "../queue/store.ts";
import type { HeldBack } from "./held-back.ts";

/** Tasks that `--drain` did not wait for: their set-up keeps failing, or no room is left. */
export interface LeftBehind {
  tasks: number;
  /** Each once. */
  reasons: string[];
}

/** Null when there are none. */
export async function leftBehind(
  store: Store,
  types: readonly string[] | null,
  held: HeldBack | null,
): Promise<LeftBehind | null> {
  if (held === null) return null;
  await held.refresh();
  if (!held.isAny) return null;
  const reasons = new Set<string>();
  let tasks = 0;
  const wanted = { states: ["pending", "waiting"] as const, types: types ?? undefined };
  for await (const { type } of store.list(wanted)) {
    const hold = type === null ? null : held.of(type);
    if (hold === null) continue;
    tasks++;
    reasons.add(hold.text);
  }
  return tasks === 0 ? null : { tasks, reasons: [...reasons] };
}
