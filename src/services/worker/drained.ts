import type { Store } from "../../store/store.ts";

/**
 * Nothing is left to do: nothing of these types is pending, nobody holds a task that could come
 * back or wake others, and nothing waits only for a time. Also when so much is in review that nothing
 * more may be claimed: then it is up to people.
 */
export async function isDrained(
  store: Store,
  types: readonly string[] | null,
  reviewLimit = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const wanted = types ? { types } : {};
  const { review, claimed } = await store.counts();
  if (review >= reviewLimit && claimed === 0) return true;
  for await (const _ of store.list({ states: ["pending"], limit: 1, ...wanted })) return false;
  for await (const _ of store.list({ states: ["claimed"], limit: 1 })) return false;
  for await (const { id } of store.list({ states: ["waiting"], ...wanted })) {
    const view = await store.show(id);
    if (view?.state !== "waiting" || view.task === null) return false; // it has just moved on
    const dependencies = await store.dependencies(view.task);
    if (dependencies.every(({ met }) => met)) return false;
  }
  return true;
}
