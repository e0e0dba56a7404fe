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
    // Closing brings completed_tasks up to date, so it belongs to the work and its error counts.
    await store.close();
  }
}
