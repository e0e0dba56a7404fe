import type { Machine } from "../../base/clock.ts";
import { isVivError } from "../../base/errors.ts";
import { quoted } from "../../base/text.ts";
import type { Env } from "../../platform/tmux/tmux.ts";
import { isAnswerOf } from "../alive.ts";
import type { Resolved } from "../resolve.ts";
import type { WardenFiles } from "../warden-files.ts";
import type { Bound, TargetKind, Warrant } from "../warrant.ts";
import { findProcessSuspect, type ProcessOptions } from "./process-suspect.ts";
import { findSessionSuspect, type SessionOptions } from "./session-suspect.ts";
import type { Found, Suspects } from "./suspect.ts";
import { endTargetTree, seeTree, whyNotOurs } from "./target-tree.ts";

/** Looks up a worker or an agent by its name. */
export type Resolve = (kind: TargetKind, name: string, home: string | null) => Promise<Resolved>;

export interface LocalSuspectsOptions extends ProcessOptions, Omit<SessionOptions, "answered"> {
  resolve: Resolve;
}

/** The suspects of this machine, for the warden of one state folder. */
export function suspectsFor(around: {
  machine: Machine;
  files: WardenFiles;
  env: Env;
  /** Names of programs that may be typed to, though they are no known agents. */
  ask: readonly string[];
  resolve: Resolve;
}): Suspects {
  const { machine, files, env, ask, resolve } = around;
  const suspects = (answered: (nonce: string) => boolean) =>
    localSuspects({
      ...{ machine, env, ask, answered, resolve },
      answerWith: (nonce) => `viv alive ${nonce} --state ${quoted(files.folder)}`,
      questionFile: (warrant) => {
        const dance = files.dances().find((one) => one.warrant.id === warrant);
        return files.questionFile(dance?.id ?? warrant);
      },
    });
  return {
    find: async (warrant): Promise<Found> => {
      // Only the target's own answer counts.
      let bound: Bound | null = null;
      const isAnswered = (nonce: string) =>
        bound !== null && isAnswerOf(files.answered(nonce), nonce, bound);
      const found = await suspects(isAnswered).find(warrant);
      if (found.is === "there") bound = found.suspect.bound;
      return found;
    },
    endLeft: (left, options) => suspects(() => false).endLeft(left, options),
  };
}

/** The same without a state folder. */
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
  const { kind, target, home, bound, watch } = warrant;
  if (kind === "tmux") return findSessionSuspect(warrant, options);
  if (bound?.is === "session") return { is: "unknown", why: "it is bound to a tmux session" };
  if (kind === "pid") return findProcessSuspect(warrant, bound, watch, options);
  const resolved = await options.resolve(kind, target, home);
  // Another process may have the name by now: only the one that the warrant was bound to is meant.
  const isSame =
    bound === null ||
    (resolved.is === "there" &&
      resolved.bound.pid === bound.pid &&
      resolved.bound.started === bound.started);
  if (bound !== null && !isSame) return findProcessSuspect(warrant, bound, watch, options);
  if (resolved.is !== "there") return resolved;
  const watchNow = async () => {
    try {
      const now = await options.resolve(kind, target, home);
      return now.is === "there" ? now.watch : [];
    } catch (error) {
      if (isVivError(error)) return []; // its run cannot be read just now: then as before
      throw error;
    }
  };
  const { questionLink } = resolved;
  const process = bound ?? resolved.bound;
  return findProcessSuspect(warrant, process, watch, options, watchNow, questionLink);
}
