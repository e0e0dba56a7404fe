import { isName } from "../base/names.ts";
import { chokedWorkers, mayTry } from "../queue/choke.ts";
import type { Store } from "../queue/store.ts";
import { WORK_SITE } from "./host.ts";

interface Limits {
  reviewLimit?: number;
  waitsForPeople?: (type: string) => boolean;
  /** False: the tasks of a paused run are still to do. */
  isOverWhenPaused?: boolean;
}

/**
 * Nothing is left to do: no task of these types is pending, no claimed task could come back or wake
 * others, and no task waits only for a time. Tasks that wait for people do not count: a full review,
 * types whose account is parked, a paused run.
 */
export async function isDrained(
  store: Store,
  types: readonly string[] | null,
  limits: Limits = {},
): Promise<boolean> {
  const { reviewLimit = Number.POSITIVE_INFINITY, waitsForPeople = () => false } = limits;
  const { isOverWhenPaused = true } = limits;
  const wanted = { types: types ?? undefined };
  const { review, claimed } = await store.counts();
  if (await store.extension(WORK_SITE)?.hasUnprovenResults()) return false;
  if (claimed === 0 && review >= reviewLimit) return true;
  if (claimed === 0 && isOverWhenPaused && (await store.paused())) return true;
  const isForOthers = (type: string) => types === null && store.reservedTypes.includes(type);
  // A foreign task with a name that we would refuse is for other workers.
  for await (const { id, type } of store.list({ states: ["pending"], ...wanted })) {
    if (!isName(id)) continue;
    if (type !== null && (waitsForPeople(type) || isForOthers(type))) continue;
    if (!(await isLeft(store, id))) return false;
  }
  for await (const _ of store.list({ states: ["claimed"], limit: 1 })) return false;
  for await (const { id } of store.list({ states: ["waiting"], ...wanted })) {
    if (!isName(id)) continue;
    const view = await store.show(id);
    if (view?.state !== "waiting" || view.task === null) return false; // it has just moved on
    const type = view.task.task_type;
    if (waitsForPeople(type) || isForOthers(type)) continue;
    const dependencies = await store.dependencies(view.task);
    if (dependencies.every(({ met }) => met)) return false;
  }
  return true;
}

/**
 * Every live worker that takes it has choked on it: it waits for another one. So does a report about
 * such a task, while nobody is there to read it.
 */
export async function isLeft(store: Store, id: string): Promise<boolean> {
  const view = await store.show(id);
  if (view?.state !== "pending" || view.task === null) return false;
  const type = view.task.task_type;
  const isReserved = store.reservedTypes.includes(type);
  const subject = isReserved ? view.task.payload.food : undefined;
  const choked = isName(subject) ? await store.show(subject) : view;
  if (choked?.state !== "pending" || chokedWorkers(choked.history).size === 0) return false;
  const workers = await store.workers();
  const takers = workers.map((one) => (isReserved ? { ...one, types: one.types ?? [] } : one));
  return mayTry(takers, type, view.history).length === 0;
}
