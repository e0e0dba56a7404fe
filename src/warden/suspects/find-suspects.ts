import { isVivError } from "../../base/errors.ts";
import type { Resolved } from "../resolve.ts";
import type { TargetKind, Warrant } from "../warrant.ts";
import { findProcessSuspect, type ProcessOptions } from "./process-suspect.ts";
import { findSessionSuspect, type SessionOptions } from "./session-suspect.ts";
import type { Found, Suspects } from "./suspect.ts";
import { endTargetTree, seeTree, whyNotOurs } from "./target-tree.ts";

export interface SuspectsOptions extends ProcessOptions, Omit<SessionOptions, "files"> {
  resolve(kind: TargetKind, name: string, home: string | null): Promise<Resolved>;
}

/** The suspects of this machine, for the warden of one state folder. */
export function suspectsFor(options: SuspectsOptions): Suspects {
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

async function find(warrant: Warrant, options: SuspectsOptions): Promise<Found> {
  const { kind, target, home, bound, watch } = warrant;
  if (kind === "tmux") return findSessionSuspect(warrant, options);
  if (bound?.is === "session") return { is: "unknown", why: "it is bound to a tmux session" };
  if (kind === "pid") return findProcessSuspect({ warrant, bound, watch }, options);
  const resolved = await options.resolve(kind, target, home);
  // Another process may have the name by now: only the bound one is meant.
  const isSame =
    bound === null ||
    (resolved.is === "there" &&
      resolved.bound.pid === bound.pid &&
      resolved.bound.started === bound.started);
  if (!isSame) return findProcessSuspect({ warrant, bound, watch }, options);
  if (resolved.is !== "there") return resolved;
  const watchNow = async () => {
    try {
      const now = await options.resolve(kind, target, home);
      return now.is === "there" ? now.watch : [];
    } catch (error) {
      if (isVivError(error)) return []; // its run cannot be read now: then as before
      throw error;
    }
  };
  const { questionLink } = resolved;
  const process = { warrant, bound: bound ?? resolved.bound, watch, watchNow, questionLink };
  return findProcessSuspect(process, options);
}
