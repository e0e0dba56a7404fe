import * as z from "zod/mini";
import type { Ended, Store } from "../store/store.ts";
import { defineOp } from "./op.ts";
import { by, ended, note } from "./schemas.ts";

/** cancel, retry, approve and reject differ only in the transition they ask for. */
type Decision = "cancel" | "retry" | "approve" | "reject";

function decision(name: Decision, summary: string) {
  return defineOp({
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
      for (const id of ids) tasks.push(await decideOne(store, name, id, by, note));
      return { tasks };
    },
  });
}

function decideOne(store: Store, name: Decision, id: string, by?: string, note?: string) {
  return store[name](id, { ...(by ? { by } : {}), ...(note ? { note } : {}) });
}

export const cancel = decision("cancel", "stop a task for good: it goes to failed/");
export const retry = decision("retry", "send a failed task round again");
export const approve = decision("approve", "accept a task that waits in review/");
export const reject = decision("reject", "send a task in review/ back, with a note");
