import type { Surroundings, SwarmStore } from "./command.ts";
import { runPath } from "./paths.ts";
import type { Values } from "./values.ts";

/** Opens the run of --run-dir for one piece of work and closes it, whatever comes of it. */
export async function withRun<T>(
  values: Values,
  around: Surroundings,
  work: (store: SwarmStore) => Promise<T>,
): Promise<T> {
  const path = runPath(values.text("--run-dir"), around.home);
  const store = await around.open(path, { create: true, withoutStatus: true });
  try {
    return await work(store);
  } finally {
    // The work is done by now: what closing leaves undone is told, and others make up for it.
    await store.close({ warn: (sentence) => around.stderr.write(`warning: ${sentence}\n`) });
  }
}
