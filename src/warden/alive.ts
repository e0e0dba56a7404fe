import type { ProcessIdentity } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { isName } from "../base/names.ts";
import type { Bound } from "./warrant.ts";

/** What `viv alive NONCE` leaves for the warden: with its sender, so that no other process can answer for a suspect. */
export interface AliveAnswer {
  nonce: string;
  at: string;
  host: string;
  boot: string;
  /** The sender and its ancestors, up to the first process of the machine. */
  chain: Pick<ProcessIdentity, "pid" | "started">[];
  /** What it had in VIV_CLAIM. */
  claim: string;
}

export function assertNonce(value: string): string {
  if (isName(value) && value.length >= 4) return value;
  const todo = "the question says which one: viv alive NONCE";
  throw new VivError("INVALID", `${JSON.stringify(value.slice(0, 40))} is no nonce; ${todo}`);
}

/**
 * Whether the bound process, one of its descendants, or one that carries its mark has answered. For a session,
 * one that lives in its server: the nonce was only shown to the session.
 */
export function isAnswerOf(text: string | null, nonce: string, bound: Bound): boolean {
  const answer = text === null ? null : parsed(text);
  if (answer === null || answer.nonce !== nonce) return false;
  const isFrom = (one: { pid: number; started: string }) =>
    answer.chain.some((each) => each?.pid === one.pid && each.started === one.started);
  if (bound.is === "session") return isFrom(bound.server);
  if (answer.host !== bound.host || answer.boot !== bound.boot) return false;
  if (bound.claim !== "" && answer.claim === bound.claim) return true;
  return isFrom(bound);
}

function parsed(text: string): AliveAnswer | null {
  try {
    const value = JSON.parse(text) as AliveAnswer;
    return Array.isArray(value?.chain) ? value : null;
  } catch {
    return null; // not an answer
  }
}
