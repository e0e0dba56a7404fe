import type { SeenProcess } from "../model/dance.ts";
import type { BoundProcess, Warrant } from "../model/warrant.ts";
import { findProcessSuspect, type ProcessOptions } from "./process-suspect.ts";
import { findSessionSuspect, type SessionOptions } from "./session-suspect.ts";
import type { Ended, Found, Suspects } from "./suspect.ts";
import { endTargetTree, seeTree, whyNotOurs } from "./target-tree.ts";

export interface LocalSuspectsOptions extends ProcessOptions, Omit<SessionOptions, "answered"> {
  /** Who a worker or an agent is, by its name. */
  resolve(warrant: Warrant): Promise<Resolved>;
}

export type Resolved =
  | { bound: BoundProcess; watch: string[] }
  | { gone: string }
  | { unknown: string };

export interface LocalSuspects extends Suspects {
  /** Of a suspect that is gone itself: ends what still lives of the tree that was seen. */
  endLeft(known: readonly SeenProcess[], options: { killAfterMs: number }): Promise<Ended>;
}

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
  if (kind === "pid" || bound) return findProcessSuspect(warrant, bound, watch, options);
  const resolved = await options.resolve(warrant);
  if ("gone" in resolved) return { is: "gone", why: resolved.gone };
  if ("unknown" in resolved) return { is: "unknown", why: resolved.unknown };
  const all = [...new Set([...watch, ...resolved.watch])];
  return findProcessSuspect(warrant, resolved.bound, all, options);
}
