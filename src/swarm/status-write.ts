import type { Verb } from "./command.ts";
import { objectFrom } from "./objects.ts";
import { withRun } from "./open.ts";

/** A whole new checkpoint: what is not given is empty again, except completed_tasks. */
export const statusWrite: Verb = async (values, around) => {
  const update = {
    summary: values.text("--summary"),
    next_step: values.text("--next-step"),
    next_task_id: values.maybe("--next-task-id") ?? null,
    risk: values.text("--risk"),
    current_worker: values.maybe("--current-worker") ?? null,
    resume_command: null,
    metadata: objectFrom(values, "--metadata") ?? {},
  };
  await withRun(values, around, (store) => store.writeStatus(update));
  return 0;
};
