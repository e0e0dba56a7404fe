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

  /** How many tasks wait for one of these, directly or through others that wait. */
  waitingFor(tasks: Iterable<string>): number {
    const seen = new Set(tasks);
    const own = seen.size;
    // A set that grows while it is walked is walked to its new end.
    for (const id of seen) for (const other of this.#byNeed.get(id) ?? []) seen.add(other);
    return seen.size - own;
  }
}

export async function readDependents(store: Store): Promise<Dependents> {
  const dependents = new Dependents();
  for await (const { id, task } of store.list({ states: ["waiting"], tasks: true })) {
    dependents.add(id, task?.depends_on ?? []);
  }
  return dependents;
}
