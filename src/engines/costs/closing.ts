import type { Closing } from "../accounts/account-policy.ts";
import type { EngineOutcome } from "../engine.ts";

/** What the end of a run says about the account that it used. */
export function closingFor(
  said: EngineOutcome,
  note: string,
): Pick<Closing, "reason" | "until" | "message" | "todo"> {
  const { kind } = said;
  const isTold = kind === "rate_limited" || kind === "unavailable" || kind === "quota";
  return {
    reason: isTold ? kind : "unauthorized",
    until: "until" in said ? said.until : null,
    message: "message" in said ? said.message : note,
    todo: "todo" in said ? said.todo : "",
  };
}
