import type { Section } from "../base/section.ts";
import { isBranchName } from "../platform/git/ref-name.ts";
import { belongsOnTop } from "../queue/config-run.ts";
import { forgeSection } from "./forge/config.ts";

export const STRATEGIES = ["merge", "squash", "rebase"] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** `[merge]`: how done work gets into its target. */
export interface MergeSettings {
  /** The branch; without it, one that the queue makes. */
  into?: string;
  strategy: Strategy;
  /** A command for every merge, after the task's own `done_when`. */
  prove?: string;
  proveTimeoutMs: number;
  /** `viv work` runs the queue beside it. */
  auto: boolean;
  /** So many are proven together. */
  batch: number;
  /** How many times a task is sent back before it waits for a person. */
  rework: number;
  via: "merge" | "pr";
}

const PROVE_TIMEOUT_MS = 10 * 60_000;

/** A branch may be given with its whole ref. */
export function branchIn(name: string): string {
  return name.replace(/^refs\/heads\//, "");
}

export const mergeSection: Section<MergeSettings> = (top, section) => {
  const table = top.section("merge");
  const into = table.text("into", "the name of a branch", (name) => isBranchName(branchIn(name)));
  const settings: MergeSettings = {
    into: into && branchIn(into),
    strategy: table.choice("strategy", STRATEGIES) ?? "merge",
    prove: table.text("prove", "a command"),
    proveTimeoutMs: table.duration("prove_timeout") ?? PROVE_TIMEOUT_MS,
    auto: table.flag("auto") ?? false,
    batch: table.whole("batch", 1000) ?? 1,
    rework: table.whole("rework", 100, 0) ?? 2,
    via: table.choice("via", ["merge", "pr"]) ?? "merge",
  };
  section(forgeSection);
  table.refuseOthers(belongsOnTop);
  return settings;
};

export const DEFAULT_MERGE: MergeSettings = {
  strategy: "merge",
  proveTimeoutMs: PROVE_TIMEOUT_MS,
  auto: false,
  batch: 1,
  rework: 2,
  via: "merge",
};
