import type { Verb } from "./command.ts";
import { objectFrom } from "./objects.ts";
import { withRun } from "./open.ts";

/** A fresh status.json in place of whatever was there: nothing is completed in it. */
export const statusInit: Verb = async (values, around) => {
  const update = {
    summary: values.filled("--summary") ?? "Initialized",
    next_step: values.text("--next-step"),
    next_task_id: values.maybe("--next-task-id") ?? null,
    metadata: objectFrom(values, "--metadata") ?? {},
  };
  await withRun(values, around, (store) => store.initStatus(values.text("--run-id"), update));
  return 0;
};
