import { isVivError } from "../../base/errors.ts";
import type { BoundProcess, Warrant } from "../warrant.ts";
import { findProcessSuspect, type ProcessOptions } from "./process-suspect.ts";
import { findSessionSuspect, type SessionOptions } from "./session-suspect.ts";
import type { Found, Suspects } from "./suspect.ts";
import { endTargetTree, seeTree, whyNotOurs } from "./target-tree.ts";

export interface LocalSuspectsOptions extends ProcessOptions, Omit<SessionOptions, "answered"> {
  /** Who a worker or an agent is, by its name. */
  resolve(warrant: Warrant): Promise<Resolved>;
}

export type Resolved =
  /** `showAt`: where it looks for a question. */
  | { bound: BoundProcess; watch: string[]; showAt?: string }
  | { gone: string }
  | { unknown: string };

/** The suspects of this machine. */
export function localSuspects(options: LocalSuspectsOptions): Suspects {
  return {
    find: (warrant) => find(warrant, options),
    endLeft: async (known, { killAfterMs }) => {
      const rest = { roots: [], marks: [] };
      const why = whyNotOurs(seeTree(rest, known));
      if (why !== null) return { exit: [], survivors: [], unknown: why };
      return endTargetTree(() => rest, known, { killAfterMs });
    },
  };
}

async function find(warrant: Warrant, options: LocalSuspectsOptions): Promise<Found> {
  const { kind, bound, watch } = warrant;
  if (kind === "tmux") return findSessionSuspect(warrant, options);
  if (bound?.is === "session") return { is: "unknown", why: "it is bound to a tmux session" };
  if (kind === "pid") return findProcessSuspect(warrant, bound, watch, options);
  const resolved = await options.resolve(warrant);
  // Whoever has its name now: only the one it was bound to is meant.
  const isSame =
    bound === null ||
    ("bound" in resolved &&
      resolved.bound.pid === bound.pid &&
      resolved.bound.started === bound.started);
  if (bound !== null && !isSame) return findProcessSuspect(warrant, bound, watch, options);
  if ("gone" in resolved) return { is: "gone", why: resolved.gone };
  if ("unknown" in resolved) return { is: "unknown", why: resolved.unknown };
  const watchNow = async () => {
    try {
      const now = await options.resolve(warrant);
      return "bound" in now ? now.watch : [];
    } catch (error) {
      if (isVivError(error)) return []; // its run cannot be read just now: then as before
      throw error;
    }
  };
  const process = bound ?? resolved.bound;
  return findProcessSuspect(warrant, process, watch, options, watchNow, resolved.showAt);
}
