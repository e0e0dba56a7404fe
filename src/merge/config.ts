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

export const DEFAULT_MERGE: MergeSettings = {
  strategy: "merge",
  proveTimeoutMs: 10 * 60_000,
  auto: false,
  batch: 1,
  rework: 2,
  via: "merge",
};

/** A branch may be given with its whole ref. */
export function branchIn(name: string): string {
  return name.replace(/^refs\/heads\//, "");
}

export const mergeSection: Section<MergeSettings> = (top, section) => {
  const table = top.section("merge");
  const into = table.text("into", "the name of a branch", (name) => isBranchName(branchIn(name)));
  const settings: MergeSettings = {
    into: into && branchIn(into),
    strategy: table.choice("strategy", STRATEGIES) ?? DEFAULT_MERGE.strategy,
    prove: table.text("prove", "a command"),
    proveTimeoutMs: table.duration("prove_timeout") ?? DEFAULT_MERGE.proveTimeoutMs,
    auto: table.flag("auto") ?? DEFAULT_MERGE.auto,
    batch: table.whole("batch", 1000) ?? DEFAULT_MERGE.batch,
    rework: table.whole("rework", 100, 0) ?? DEFAULT_MERGE.rework,
    via: table.choice("via", ["merge", "pr"]) ?? DEFAULT_MERGE.via,
  };
  section(forgeSection);
  table.refuseOthers(belongsOnTop);
  return settings;
};
