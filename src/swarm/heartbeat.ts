import type { Verb } from "./command.ts";
import { withRun } from "./open.ts";

export const heartbeat: Verb = async (values, around) => {
  const note = values.text("--note");
  await withRun(values, around, (store) => store.heartbeat(values.text("--worker-id"), { note }));
  return 0;
};
