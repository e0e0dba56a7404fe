import { VivError } from "../../base/errors.ts";
import type { OpContext } from "../../operation/op.ts";

/** A task's log in pieces; a stream, so not an Op like the others. */
export async function* readLogs(
  { store }: OpContext,
  id: string,
  options: { follow?: boolean; signal?: AbortSignal },
): AsyncGenerator<string> {
  if ((await store.show(id)) === null) {
    throw new VivError("TASK_NOT_FOUND", `there is no task ${id} in this run; see: viv ls`, { id });
  }
  yield* store.log(id, options);
}

/** Attempts of it that the warden ended, and where that is written. */
export async function receiptsOf(
  { store }: OpContext,
  id: string,
): Promise<{ attempt: number; worker: string; receipt: string }[]> {
  const attempts = await store.attemptsOf(id);
  return attempts.flatMap(({ attempt, worker, receipt }) =>
    receipt === undefined ? [] : [{ attempt, worker, receipt }],
  );
}
