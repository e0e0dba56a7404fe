import type { Attempt, Dance, DanceEvent, Outcome, Verdict } from "./dance.ts";
import type { Ended, Found, Look, Suspect } from "./suspects/suspect.ts";
import type { WardenHost } from "./warden-host.ts";

/** How a dance ends: what happened, what that means, and the proof. */
export interface Ending {
  event: DanceEvent;
  verdict: Verdict;
  why: string;
  look?: Look | null;
  exit?: Outcome["exit"];
  survivors?: number[];
}

type There = Extract<Look, { is: "there" }>;

export interface Execution {
  dance: Dance;
  host: WardenHost;
  killAfterMs: number;
  /** Null after a restart: it must be found again. */
  suspect: Suspect | null;
  /** It may have been signalled before a restart. */
  wasExecuting: boolean;
  hasAnswered(look: There, attempt: Attempt): boolean;
  /** A target that waits for a person is spared. */
  sparesWaiting: boolean;
}

/** Ends a suspect, unless the last look shows that it must not be ended. */
export async function execute(
  about: Execution,
): Promise<{ ending: Ending; suspect: Suspect | null }> {
  const { dance, host, wasExecuting } = about;
  const found: Found = about.suspect
    ? { is: "there", suspect: about.suspect }
    : await host.suspects.find({ ...dance.warrant, bound: dance.bound });
  const suspect = found.is === "there" ? found.suspect : null;
  const isLeft = wasExecuting && found.is === "unknown" && found.isReplaced === true;
  if (found.is === "unknown" && !isLeft) return { ending: failed(found.why), suspect };
  const look = suspect ? await suspect.look() : null;
  const reprieve = look && whyNot(look, about);
  if (reprieve) return { ending: reprieve, suspect };
  const options = { killAfterMs: about.killAfterMs };
  const { standing: asked } = dance.attempts[dance.attempt - 1] ?? {};
  const ended = suspect
    ? await suspect.end(dance.tree, { ...options, asked, isResumed: wasExecuting })
    : await host.suspects.endLeft(treeLeft(about), options);
  return { ending: { ...verdictOn(ended, about), look }, suspect };
}

/** The last look before the first signal. */
function whyNot(look: Look, about: Execution): Ending | null {
  const { dance, hasAnswered } = about;
  if (look.is === "unknown") return failed(look.why);
  const attempt = dance.attempts[dance.attempt - 1];
  if (look.is !== "there" || !attempt) return null;
  if (look.person !== undefined && about.sparesWaiting) {
    attempt.ended = "waiting";
    const why = `needs you: ${dance.warrant.target} ${look.person}`;
    return { event: "alive", verdict: "pardoned", why, look };
  }
  if (!hasAnswered(look, attempt)) return null;
  attempt.ended = "answered";
  const why = `it answered in attempt ${attempt.number}, at the last moment`;
  return { event: "alive", verdict: "pardoned", why, look };
}

function verdictOn(ended: Ended, { dance, wasExecuting }: Execution): Ending {
  const { exit, survivors, unknown, spared } = ended;
  if (unknown !== undefined) return { ...failed(unknown), exit, survivors };
  if (survivors.length > 0) {
    const are = survivors.length === 1 ? "is" : "are";
    const why = `it could not be killed: ${survivors.join(", ")} ${are} still there after SIGKILL`;
    return { event: "survived", verdict: "failed", why, exit, survivors };
  }
  const isSignalled = exit.some(({ signal }) => signal !== "none");
  if (!isSignalled && !wasExecuting) {
    const why = "it ended by itself before it was signalled";
    return { event: "gone", verdict: "already_dead", why, exit, survivors };
  }
  const asked = dance.attempts.filter(({ asked_at }) => asked_at !== null).length;
  const times = asked === 1 ? "once" : `${asked} times`;
  // A warden that was killed before it wrote the proof does not know what it had signalled.
  const unseen = isSignalled ? "" : "; the warden ended while it executed, and found it gone";
  const how =
    asked === 0
      ? "it could not be asked, and did not work"
      : `it was asked ${times}, and neither answered nor worked`;
  const why = `${how}${unseen}${spared === undefined ? "" : `; ${spared}`}`;
  return { event: "dead", verdict: "executed", why, exit, survivors };
}

function failed(why: string): Ending {
  return { event: "unknown", verdict: "failed", why };
}

/** After a reboot nothing of it is left, and its numbers belong to other processes. */
function treeLeft({ dance, host }: Execution): Dance["tree"] {
  return dance.tree_boot === host.machine.bootId() ? dance.tree : [];
}
