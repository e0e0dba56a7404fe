import type { Finished } from "../platform/processes/handlers.ts";
import type { Proof } from "../queue/proof.ts";
import { type AttemptEnd, type Ending, reportOf } from "./ending.ts";
import type { Hold } from "./hold.ts";
import type { Place, Scene } from "./place.ts";
import type { Runner } from "./runner.ts";
import { WORK_SITE } from "./site.ts";

const DONE_WHEN_TIMEOUT_MS = 10 * 60_000;

export interface ProofParts {
  scene: Scene;
  hold: Hold;
  runner: Runner;
  ending: Ending;
  /** Called before an end that says that it is not proven. */
  onUnproven: () => Promise<void>;
}

/**
 * The proof of an attempt, in the place where the work was done, and the end that follows from it.
 * A proof that cannot begin, or whose result cannot be written down, says nothing about the work:
 * both are waited for.
 */
export async function prove(parts: ProofParts, place: Place, note?: string): Promise<AttemptEnd> {
  const { scene, hold, runner, ending } = parts;
  const { route, host, claim } = scene;
  const id = claim.task.task_id;
  const command = (await hold.keep(() => doneWhen(scene))) ?? route.doneWhen;
  if (command !== undefined && command !== null) {
    const finished = await runner.execute(place, ["/bin/sh", "-c", command], {
      stdin: "",
      logPath: host.evidence.proofLogOf(id),
      timeoutMs: route.doneWhenTimeoutMs ?? DONE_WHEN_TIMEOUT_MS,
      isProof: true,
    });
    if (finished.survivors.length > 0) return ending.stuck(finished);
    if (finished.cause === "stopped") return ending.released(finished.why ?? "the worker stops");
    const proof = proofOf(claim.attempt, command, finished);
    await hold.keep(() => host.evidence.writeProof(id, proof));
    if (finished.exit !== 0) {
      await hold.keep(parts.onUnproven);
      return ending.failed(reportOf("unproven", finished), finished, proof);
    }
  }
  const { branch, workspace } = place;
  if (branch !== undefined && workspace !== null) {
    const message = `${claim.task.task_type}: ${id}`;
    await hold.keep(() => host.commitWorkspace(workspace, message));
  }
  return ending.done(note);
}

/** Where a task can still be written to when it is claimed, its file counts. */
async function doneWhen({ claim, store }: Scene): Promise<string | undefined> {
  const { done_when: known, task_id } = claim.task;
  const task = await store.extension(WORK_SITE)?.readClaimed(claim.worker, task_id);
  return task?.done_when ?? known;
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
