import { inSlices } from "../../platform/slices.ts";
import { TASK_STATES } from "../../queue/states.ts";
import type { Store } from "../../queue/store.ts";

/** The tasks that wait, by what they wait for. */
export class Dependents {
  readonly #byNeed = new Map<string, string[]>();

  add(id: string, needs: Iterable<string>): void {
    for (const need of new Set(needs)) {
      const others = this.#byNeed.get(need);
      if (others) others.push(id);
      else this.#byNeed.set(need, [id]);
    }
  }

  /** What they wait for, each once. */
  get needs(): Iterable<string> {
    return this.#byNeed.keys();
  }

  /** Some task that waits for it itself. */
  oneThatNeeds(id: string): string | undefined {
    return this.#byNeed.get(id)?.[0];
  }

  /** How many tasks wait for one of these, directly or through others that wait. */
  waitingFor(tasks: Iterable<string>): number {
    const seen = new Set(tasks);
    const own = seen.size;
    // A set that grows while it is walked is walked to its new end.
    for (const id of seen) for (const other of this.#byNeed.get(id) ?? []) seen.add(other);
    return seen.size - own;
  }
}

/**
 * What is needed, and has never been enqueued. A task may come after those that wait for it, so this is of
 * now.
 */
export async function notEnqueued(store: Store, dependents: Dependents): Promise<string[]> {
  const left = new Set(dependents.needs);
  for (const state of TASK_STATES) {
    if (left.size > 0) for (const id of await store.ids(state)) left.delete(id);
  }
  const absent: string[] = [];
  for await (const id of inSlices(left)) {
    // A task that moved meanwhile was in no list.
    const [fact] = await store.dependencies({ depends_on: [id] });
    if (fact?.state === "unknown") absent.push(id);
  }
  return absent;
}

export async function readDependents(store: Store): Promise<Dependents> {
  const dependents = new Dependents();
  for await (const { id, task } of store.list({ states: ["waiting"], tasks: true })) {
    dependents.add(id, task?.depends_on ?? []);
  }
  return dependents;
}
