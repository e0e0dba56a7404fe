import type { Finished } from "../platform/processes/handlers.ts";
import type { Proof } from "../queue/attempt.ts";
import { type AttemptEnd, type Ending, reportOf } from "./ending.ts";
import { WORK_SITE } from "./host.ts";
import type { AttemptContext, Place } from "./place.ts";
import type { Runner } from "./runner.ts";

const DONE_WHEN_TIMEOUT_MS = 10 * 60_000;

/**
 * The proof of an attempt, in the place where the work was done, and the end that follows from it.
 * A proof that cannot begin, or whose result cannot be written, is tried again: neither says
 * anything about the work.
 */
export async function prove(
  { claim, id, route, host, store, retry }: AttemptContext,
  runner: Runner,
  ending: Ending,
  { place, note }: { place: Place; note?: string },
  onUnproven: () => Promise<void>,
): Promise<AttemptEnd> {
  const { branch, workspace } = place;
  const left =
    workspace === null ? [] : await retry.untilDone(() => host.unresolvedIn?.(workspace));
  if (left && left.length > 0) {
    const note = `conflicts are left in ${left.join(", ")}`;
    return ending.failed({ outcome: "unproven", note, fingerprint: note });
  }
  const command =
    (await retry.untilDone(() => store.extension(WORK_SITE)?.doneWhen(claim))) ??
    claim.task.done_when ??
    route.doneWhen;
  const hasProof = command !== undefined && command !== null;
  if (hasProof) {
    const finished = await runner.execute(place, ["/bin/sh", "-c", command], {
      stdin: "",
      logPath: host.artifacts.proofLogOf(id),
      timeoutMs: route.doneWhenTimeoutMs ?? DONE_WHEN_TIMEOUT_MS,
      isProof: true,
    });
    if (finished.survivors.length > 0) return ending.stuck(finished);
    if (finished.cause === "stopped") return ending.released(finished.why ?? "the worker stops");
    const proof = proofOf(claim.attempt, command, finished);
    await retry.untilDone(() => host.artifacts.writeProof(id, proof));
    if (finished.exit !== 0) {
      await retry.untilDone(onUnproven);
      return ending.failed(reportOf("unproven", finished), finished, proof);
    }
  }
  if (branch !== undefined && workspace !== null) {
    const message = `${claim.task.task_type}: ${id}`;
    await retry.untilDone(() => host.commitWorkspace(workspace, message, { isOver: true }));
  }
  if (!hasProof) return ending.done(note);
  const content = branch === undefined ? null : await host.worktreeContent?.(id);
  return ending.done(note, { commit: content?.commit ?? undefined });
}

function proofOf(attempt: number, command: string, finished: Finished): Proof {
  return {
    attempt,
    command,
    exit: finished.exit,
    signal: finished.signal,
    timed_out: finished.cause === "timed_out",
    duration_ms: Math.round(finished.durationMs),
    at: new Date().toISOString(),
    output: finished.error ?? finished.tail,
    dropped: finished.dropped,
  };
}
