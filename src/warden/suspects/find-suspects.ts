import type { Machine } from "../../base/clock.ts";
import { quoted } from "../../base/text.ts";
import type { Env } from "../../platform/tmux/tmux.ts";
import { isAnswerOf } from "../alive.ts";
import type { WardenFiles } from "../files.ts";
import type { Bound, BoundProcess, TargetKind } from "../warrant.ts";
import type { Found, Suspects } from "./suspect.ts";
import { localSuspects } from "./suspects.ts";

type Resolved =
  | { is: "there"; bound: BoundProcess; watch: string[]; showAt?: string }
  | { is: "gone"; why: string }
  | { is: "unknown"; why: string };

/** The suspects of this machine, for the warden of one state folder. */
export function suspectsFor(around: {
  machine: Machine;
  files: WardenFiles;
  env: Env;
  /** Programs that may be typed to, though they are not known. */
  ask: readonly string[];
  resolve(kind: TargetKind, name: string, home: string | null): Promise<Resolved>;
}): Suspects {
  const { machine, files, env, ask } = around;
  const suspects = (answered: (nonce: string) => boolean) =>
    localSuspects({
      machine,
      env,
      ask,
      answered,
      answerWith: (nonce) => `viv alive ${nonce} --state ${quoted(files.folder)}`,
      questionFile: (warrant) => {
        const dance = files.dances().find((one) => one.warrant.id === warrant);
        return files.questionFile(dance?.id ?? warrant);
      },
      resolve: async ({ kind, target, home }) => {
        const found = await around.resolve(kind, target, home);
        if (found.is === "there") {
          const { bound, watch, showAt } = found;
          return { bound, watch, ...(showAt === undefined ? {} : { showAt }) };
        }
        return found.is === "gone" ? { gone: found.why } : { unknown: found.why };
      },
    });
  return {
    find: async (warrant): Promise<Found> => {
      // Only what this very target said is its answer.
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
