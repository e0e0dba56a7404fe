import type { TaskSpec } from "../queue/spec.ts";
import type { Verb } from "./command.ts";
import { objectFrom } from "./objects.ts";
import { withRun } from "./open.ts";

/** Always into pending/: swarm-lib's workers look nowhere else, and check dependencies there. */
export const enqueue: Verb = async (values, around) => {
  const spec: TaskSpec = {
    id: values.text("--task-id"),
    type: values.text("--task-type"),
    payload: objectFrom(values, "--payload") ?? {},
    depends_on: values.list("--depends-on") ?? [],
    tier_hint: values.maybe("--tier-hint") ?? null,
    created_by: values.maybe("--created-by") ?? null,
  };
  const { warnings = [] } = await withRun(values, around, (store) =>
    store.enqueue(spec, { straightToPending: true }),
  );
  for (const sentence of warnings) around.stderr.write(`warning: ${sentence}\n`);
  return 0;
};
