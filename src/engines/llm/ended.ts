import type { EngineOutcome } from "../engine.ts";

/** Thrown where it is known how the run ends; caught where the result is made. */
export class Ended extends Error {
  readonly outcome: Exclude<EngineOutcome, { kind: "done" }>;

  constructor(outcome: Exclude<EngineOutcome, { kind: "done" }>) {
    super(outcome.message);
    this.outcome = outcome;
  }
}
