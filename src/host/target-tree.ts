import type { ProcessEnd, SeenProcess } from "../model/dance.ts";

/** Where a target's tree begins, and how those can be known that have run away from it. */
export interface TreeOf {
  roots: readonly { pid: number; started: string }[];
  /** Entries of an environment; whoever carries all of one of these sets belongs to the tree. */
  marks: readonly (readonly string[])[];
}

export interface TreeEnd {
  exit: ProcessEnd[];
  survivors: number[];
}

export declare function seeTree(of: TreeOf, known: readonly SeenProcess[]): SeenProcess[];
export declare function endTargetTree(
  of: () => TreeOf,
  known: readonly SeenProcess[],
  options: { killAfterMs: number; now?: () => number },
): Promise<TreeEnd>;
/** Why this tree must not be ended: it has us, or an ancestor of ours, in it. */
export declare function whyNotOurs(tree: readonly SeenProcess[]): string | null;
