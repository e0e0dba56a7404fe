import type { ModelUsage } from "./costs/usage.ts";

/**
 * One thing a model run did, as it happens: a tool it called, something it said or thought, or a
 * notice about the run itself (a line that could not be read, a budget that is nearly used up).
 */
export interface Step {
  kind: "tool" | "text" | "thought" | "notice";
  /** Of a tool: its name, and what it was called on (a path, a command). */
  tool?: string;
  target?: string;
  /** Short: a line or two, without control characters. */
  text?: string;
  /** What has been used since the step before, where the vendor tells. */
  usage?: ModelUsage;
  /** What it used is that of an answer which has only begun: a further step tells the rest. */
  isBegun?: true;
  /** What it used is that of so many steps. */
  of?: number;
}
