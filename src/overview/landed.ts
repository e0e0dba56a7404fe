import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Landings } from "../merge/facts.ts";
import type { LandingState } from "../merge/landing.ts";
import type { Term } from "../operation/term.ts";
import type { Store } from "../queue/store.ts";

/** Landings of many tasks, without git; null when the run has none and none was asked for. */
export async function landingsIn(store: Store, isAsked = false): Promise<Landings | null> {
  if (!isAsked && !existsSync(join(store.folder, "merge"))) return null;
  return (await import("../merge/facts.ts")).landingsIn(store);
}

/** Beside "done", which says nothing of where the work is. */
export function paintLanding(state: LandingState | undefined, { color }: Term): string {
  if (state === undefined) return "";
  const text = state === "reworked" ? "sent back" : state.replace("_", " ");
  if (state === "landed") return color.green(text);
  if (state === "needs_you" || state === "held") return color.red(text);
  return state === "no_changes" ? color.dim(text) : color.yellow(text);
}
