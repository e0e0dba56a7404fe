import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { parseRecord } from "../../base/json.ts";
import { flag, note } from "../../operation/fields.ts";
import type { Proof } from "../../queue/attempt.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import { refOf } from "../../queue/operations/claims.ts";
import { claimRef, ended, endedOutput, taskFile } from "../../queue/schemas.ts";
import type { TaskView } from "../../queue/store.ts";
import { doneWhenOf } from "../asked-proof.ts";
import { WORK_SITE, workerHostPort } from "../host.ts";

/**
 * `viv complete`. A task without a proof is done at once. One with a proof is proven first, and a
 * failed proof ends the attempt as unproven; `no_prove` leaves the proof to a worker. While a handler
 * of a worker runs, that worker proves the task when the handler exits.
 */
export const complete = defineRunOperation({
  name: "complete",
  summary: "end an attempt: prove the task, then it is done",
  access: "write",
  input: z.strictObject({
    ...claimRef,
    note,
    no_prove: flag("leave the proof to a worker: the task waits in pending/ for it"),
  }),
  output: z.extend(ended, {
    /** Of a task with a proof; `running`: its worker has not finished yet. */
    outcome: z.optional(z.string()),
    proof: z.optional(taskFile as never as z.ZodMiniType<Proof>),
    log: z.optional(z.string()),
  }),
  async run(context, { note, no_prove, ...given }) {
    const { store } = context;
    const ref = refOf(context, given);
    const command = await askedProof(context, ref.id);
    if (command === undefined) return endedOutput(await store.complete(ref, { note }));
    if (no_prove) {
      if (store.extension(WORK_SITE) !== null) throw notInPit();
      const left = await store.complete(ref, { note, handIn: true });
      return { ...endedOutput(left), outcome: "handed_in" };
    }
    const view = await store.show(ref.id);
    const token = view?.state === "claimed" ? await store.currentToken(ref) : null;
    // Not held, or not with this token: the store has the right words, and knows repeated calls.
    if (!view?.task || !token) return endedOutput(await store.complete(ref, { note }));
    await store.heartbeat(ref.worker, { note: `proves ${ref.id}`, token: ref.token });
    const attempt = view.history.filter((one) => !("retried" in one)).length + 1;
    if (isInHands(context, view, token)) {
      const pid = view.process?.vitality === "alive" ? ` (pid ${view.process.pid})` : "";
      const text = `${ref.id} is being worked on or proven${pid}; a handler's worker runs the proof when it exits with 0: ${command}`;
      const base = { id: ref.id, from: "claimed" as const, to: "claimed" as const, attempt };
      return { ...base, outcome: "running", warnings: [text] };
    }
    const { proveClaim } = await import("../prove-claim.ts");
    const host = await context.use(workerHostPort);
    const { task, type } = view;
    const claim = { id: ref.id, type: type ?? "", task, worker: ref.worker, token, attempt };
    const { here, signal } = context;
    const end = await proveClaim(claim, { store, host, config: here.config }, { note, signal });
    if (end.kind === "lost") return endedOutput(await store.complete({ ...ref, token }));
    const proof = (await store.proof(ref.id)) ?? undefined;
    const log = host.artifacts.proofLogOf(ref.id);
    return { ...endedOutput(end.ended), outcome: end.outcome, proof, log };
  },
});

/** The command that proves the task; undefined when nothing does. Cheap: most tasks have none. */
async function askedProof(context: RunContext, id: string): Promise<string | undefined> {
  const { store, here } = context;
  if (store.extension(WORK_SITE) !== null) return doneWhenOf(here.config, await store.show(id));
  const task = parseRecord(await store.source(id).catch(() => null));
  const type = typeof task?.task_type === "string" ? task.task_type : null;
  return doneWhenOf(here.config, { type, task });
}

/** Does its handler still run, or is it this very process's parent? */
function isInHands({ store, here }: RunContext, { id, process }: TaskView, token: string): boolean {
  if (here.env.VIV_CLAIM === store.claimMark({ id, token })) return true;
  return process?.vitality === "alive";
}

function notInPit(): VivError {
  const message =
    "a pit takes no unproven claims; put the result into done/ by hand, and a worker or viv pit sweep proves it.";
  return new VivError("UNSUPPORTED", message);
}
