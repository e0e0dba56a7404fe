import { type Claim, extensionKey } from "../queue/store.ts";

/** What a layout changes about the work on its tasks; the store of such a layout offers it. */
export interface WorkSite {
  /** Where handlers without a workspace run. */
  readonly folder: string;
  /** The file that a handler holds, and the variables that name it. */
  claimFile(claim: Claim, artifact: string): { path: string; env: Record<string, string> };
  /** `done_when` as it is now: the task's file may have been written on after the claim. */
  doneWhen(claim: Claim): Promise<string | undefined>;
  /** Is there a result without proof, whose task may come back? */
  hasUnprovenResults(): Promise<boolean>;
}

export const WORK_SITE = extensionKey<WorkSite>("work site");
