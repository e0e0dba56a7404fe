import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { by, note } from "../../operation/fields.ts";
import { defineRunOperation } from "../operation.ts";
import { ended, endedOutput } from "../schemas.ts";
import type { Ended, Store } from "../store.ts";

/** cancel, retry, approve and reject differ only in the transition they ask for. */
type Decision = "cancel" | "retry" | "approve" | "reject";

function decision(name: Decision, summary: string) {
  return defineRunOperation({
    name,
    summary,
    access: "write",
    input: z.strictObject({
      ids: z.array(z.string()).check(z.minLength(1)).check(z.describe("the tasks")),
      by,
      note,
    }),
    output: z.object({ tasks: z.array(ended) }),
    async run({ store }, { ids, by, note }) {
      const tasks: Ended[] = [];
      for (const id of ids) {
        try {
          tasks.push(await decideOne(store, name, id, by, note));
        } catch (error) {
          throw afterOthers(error, tasks);
        }
      }
      return { tasks: tasks.map(endedOutput) };
    },
  });
}

/** Whoever named several must learn which of them it still worked for. */
function afterOthers(error: unknown, done: readonly Ended[]): unknown {
  if (!(error instanceof VivError) || done.length === 0) return error;
  const ids = done.map(({ id }) => id);
  const message = `${error.message} (Before that, it worked for ${ids.join(", ")}.)`;
  return new VivError(error.code, message, { ...error.details, done: ids }, { cause: error });
}

function decideOne(store: Store, name: Decision, id: string, by?: string, note?: string) {
  return store[name](id, { ...(by ? { by } : {}), ...(note ? { note } : {}) });
}

export const cancel = decision("cancel", "stop a task for good: it goes to failed/");
export const retry = decision("retry", "send a failed task round again");
export const approve = decision("approve", "accept a task that waits in review/");
export const reject = decision("reject", "send a task in review/ back, with a note");
