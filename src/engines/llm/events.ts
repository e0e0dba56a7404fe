import type { ModelUsage } from "../costs/usage.ts";
import type { EngineOutcome } from "../engine.ts";
import type { Step } from "../step.ts";

/**
 * What the program prints, one JSON object on each line: the session as soon as there is one, steps
 * as they happen, and at last the result. A line of another type is for a later reader.
 */
export type LlmEvent = SessionEvent | StepEvent | ResultEvent;

/** From here on a later attempt can go on with it. */
export interface SessionEvent {
  type: "session";
  session: string;
}

/** `usage`, where there is one, is what was used since the step before. */
export interface StepEvent extends Step {
  type: "step";
}

export interface ResultEvent {
  type: "result";
  outcome: EngineOutcome;
  text: string;
  session: string | null;
  /** Null when the API did not tell. */
  usage: ModelUsage[] | null;
  /** How often the model was asked. */
  steps: number;
}
