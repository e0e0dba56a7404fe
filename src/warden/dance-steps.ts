import { workSince } from "./answer-watch.ts";
import type { Attempt, AttemptEnd, DanceEvent, Outcome, Verdict } from "./dance.ts";
import type { DanceRun } from "./dance-run.ts";
import { questionOf } from "./question.ts";
import type { Ended, Found, Look, Suspect, There } from "./suspects/suspect.ts";

/** How a dance ends: the event, its verdict, and the proof. */
export interface Ending {
  event: DanceEvent;
  verdict: Verdict;
  why: string;
  look?: Look | null;
  exit?: Outcome["exit"];
  survivors?: number[];
}

/** Files written because of the question itself are no work. */
const SETTLES_WITHIN_MS = 2_000;

export function newAttempt({ dance, host, settings }: DanceRun): Attempt {
  const number = dance.attempt;
  return {
    ...{ number, nonce: host.newNonce(), asked_at: null, began_at: null, channel: null },
    timeout_ms: settings.timeoutsMs[number - 1] ?? 60_000,
    ...{ arrived: false, submitted: false, bursts: [], ended_at: null, ended: null },
  };
}

/** Puts the question of this attempt. Null: the warden stopped meanwhile. */
export async function ask(
  run: DanceRun,
  suspect: Suspect,
  attempt: Attempt,
): Promise<Ending | "asked" | null> {
  const { dance, watch } = run;
  const question = questionOf(dance, attempt, run.settings.timeoutsMs.length);
  watch.addQuestion(question);
  const asked = await run.retry(() => suspect.ask(question, attempt.standing));
  if (asked === null) return null;
  if (asked.is === "left") return agentLeft(run, suspect, asked.why);
  if (asked.is === "gone" || asked.is === "unknown") return lost(run, asked);
  const now = run.now();
  attempt.began_at = now;
  attempt.work = (await suspect.work(Date.parse(now))).processes;
  if (asked.is === "asked") {
    attempt.asked_at = now;
    attempt.channel = asked.channel;
    attempt.arrived = true;
    attempt.submitted = true;
    if (asked.except !== undefined) attempt.unasked = asked.except;
    dance.last_message_at = now;
  } else {
    attempt.unasked = asked.why;
    if (asked.is === "waits" && run.ifUnasked() === "spare") attempt.ended = "waiting";
  }
  run.setDeadline(attempt.timeout_ms);
  if (!(await run.save())) return null;
  const about = { dog: dance.id, target: dance.warrant.target, attempt: attempt.number };
  if (asked.is === "asked") {
    const { timeout_ms } = attempt;
    run.emit({ kind: "asked", ...about, timeout_ms, channel: asked.channel });
  } else if (attempt.ended === null) {
    run.emit({ kind: "watched", ...about, why: asked.why });
  }
  return "asked";
}

/** Its agent has ended. The shell it left is closed only if the warrant says so. */
async function agentLeft(run: DanceRun, suspect: Suspect, why: string): Promise<Ending> {
  const isClosed = run.dance.warrant.close === true && (await suspect.closeShell?.()) === true;
  const hint = isClosed
    ? "the session was closed"
    : "the session was left as it is (--close would close it, --shell would ask the shell)";
  return { event: "gone", verdict: "already_dead", why: `${why}; ${hint}` };
}

export function lost({ dance }: DanceRun, look: Exclude<Look, There>): Ending {
  const attempt = dance.attempts.at(-1);
  if (attempt) attempt.ended = look.is;
  if (look.is === "unknown") return failed(look.why);
  return { event: "gone", verdict: "already_dead", why: look.why };
}

/** Waits until it answers or its time is up. Null: a request came in between. */
export async function awaitAnswer(
  run: DanceRun,
  suspect: Suspect,
  attempt: Attempt,
): Promise<Ending | "over" | null> {
  suspect.watch(() => run.sleeper.wake());
  for (;;) {
    const look = await suspect.look();
    if (look.is === "gone") return lost(run, look);
    // "unknown" may be a slow tmux: the look when its time is up decides.
    if (look.is === "there" && run.watch.record(look, attempt, run.clock())) {
      attempt.ended = "answered";
      return "over";
    }
    if (look.is === "there" && look.person !== undefined && run.ifUnasked() === "spare") {
      attempt.ended = "waiting";
      return "over";
    }
    if (run.requested !== null) return null;
    if (run.msLeft(attempt) <= 0 && !(await waitsForTurn(run, look, attempt))) return "over";
    await run.sleeper.sleep(Math.min(run.msLeft(attempt), lookInterval(attempt.timeout_ms)));
    if (run.requested !== null) return null;
  }
}

/** A queued question cannot be answered before the turn ends; that may take as long as `patience`. */
async function waitsForTurn(run: DanceRun, look: Look, attempt: Attempt): Promise<boolean> {
  if (look.is !== "there" || look.isQueued !== true || attempt.asked_at === null) return false;
  const waited = run.clock() - Date.parse(attempt.asked_at);
  const left = run.patienceMs() - Math.max(0, waited);
  if (left <= 0) return false;
  const { id: dog, warrant } = run.dance;
  const { number, queued } = attempt;
  attempt.queued = true;
  run.setDeadline(Math.min(left, attempt.timeout_ms));
  if (!(await run.save())) return false;
  if (!queued) run.emit({ kind: "turn", dog, target: warrant.target, attempt: number });
  return true;
}

/** Signs besides an answer that it is not stuck. */
export async function signOfLife(
  run: DanceRun,
  suspect: Suspect,
  attempt: Attempt,
  look: There,
): Promise<{ ended: AttemptEnd; why: string } | null> {
  const { dance, watch } = run;
  if (look.person !== undefined && run.ifUnasked() === "spare") {
    const why = `needs you: ${dance.warrant.target} ${look.person}`;
    run.emit({ kind: "needs_you", dog: dance.id, target: dance.warrant.target, why });
    return { ended: "waiting", why };
  }
  if (watch.repeatsAnswer(look)) {
    return { ended: "answered", why: `it answered in attempt ${attempt.number}` };
  }
  const reply = dance.attempts.find((one) => one.reply !== undefined)?.reply;
  if (reply !== undefined) {
    return { ended: "replied", why: `it answered in other words: ${reply}` };
  }
  if (watch.hasProgress()) {
    return { ended: "progress", why: "it did not answer, but it works: its output keeps coming" };
  }
  const work = await workOf(run, suspect, attempt);
  return work === null ? null : { ended: "work", why: `it did not answer, but it works: ${work}` };
}

/** Work of its children since its wait began, or a file that was written since. */
async function workOf(run: DanceRun, suspect: Suspect, attempt: Attempt): Promise<string | null> {
  const began = Date.parse(attempt.began_at ?? attempt.asked_at ?? "");
  if (Number.isNaN(began)) return null;
  const { processes, changed } = await suspect.work(began + SETTLES_WITHIN_MS);
  const elapsed = Math.max(0, run.clock() - began);
  const words = workSince(attempt.work ?? [], processes, elapsed, run.patienceMs());
  const what = words ?? (changed === null ? null : `it has changed ${changed}`);
  if (what !== null) attempt.bursts.push({ at: run.now(), source: "work", what });
  return what;
}

/** Between looks without a notification: often enough for its time-out, seldom enough for twenty dogs. */
export function lookInterval(timeoutMs: number): number {
  return Math.min(30_000, Math.max(1_000, timeoutMs / 2));
}

/** Without a suspect, only the rest of its tree may be left. */
export interface LastLook {
  suspect: Suspect | null;
  look: Look | null;
  reprieve: Ending | null;
}

/** The last look before the first signal. After a restart the suspect is found again. */
export async function lastLook(
  run: DanceRun,
  known: Suspect | null,
  isResumed: boolean,
): Promise<LastLook> {
  const { dance, host } = run;
  const found: Found = known
    ? { is: "there", suspect: known }
    : await host.suspects.find({ ...dance.warrant, bound: dance.bound });
  const suspect = found.is === "there" ? found.suspect : null;
  const isLeft = isResumed && found.is === "unknown" && found.isReplaced === true;
  if (found.is === "unknown" && !isLeft) {
    return { suspect, look: null, reprieve: failed(found.why) };
  }
  const look = suspect ? await suspect.look() : null;
  return { suspect, look, reprieve: look && whyNot(run, look) };
}

function whyNot(run: DanceRun, look: Look): Ending | null {
  const { dance } = run;
  if (look.is === "unknown") return failed(look.why);
  const attempt = dance.attempts[dance.attempt - 1];
  if (look.is !== "there" || !attempt) return null;
  if (look.person !== undefined && run.ifUnasked() === "spare") {
    attempt.ended = "waiting";
    const why = `needs you: ${dance.warrant.target} ${look.person}`;
    return { event: "alive", verdict: "pardoned", why, look };
  }
  if (!run.watch.record(look, attempt, run.clock())) return null;
  attempt.ended = "answered";
  const why = `it answered in attempt ${attempt.number}, at the last moment`;
  return { event: "alive", verdict: "pardoned", why, look };
}

/** Ends the suspect. From here on it may have been signalled. */
export async function execute(
  run: DanceRun,
  { suspect, look }: LastLook,
  isResumed: boolean,
): Promise<Ending> {
  const { dance, host } = run;
  const { killAfterMs } = run.settings;
  const { standing: asked } = dance.attempts[dance.attempt - 1] ?? {};
  // In another boot nothing of it is left, and its pids belong to other processes.
  const left = dance.tree_boot === host.machine.bootId() ? dance.tree : [];
  const ended = suspect
    ? await suspect.end(dance.tree, { killAfterMs, asked, isResumed })
    : await host.suspects.endLeft(left, { killAfterMs });
  return { ...verdictOn(ended, run, isResumed), look };
}

function verdictOn(ended: Ended, { dance }: DanceRun, isResumed: boolean): Ending {
  const { exit, survivors, unknown, spared } = ended;
  if (unknown !== undefined) return { ...failed(unknown), exit, survivors };
  if (survivors.length > 0) {
    const are = survivors.length === 1 ? "is" : "are";
    const why = `it could not be killed: ${survivors.join(", ")} ${are} still there after SIGKILL`;
    return { event: "survived", verdict: "failed", why, exit, survivors };
  }
  const isSignalled = exit.some(({ signal }) => signal !== "none");
  if (!isSignalled && !isResumed) {
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
