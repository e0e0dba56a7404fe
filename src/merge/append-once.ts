import type { LedgerLine, ToldEvent } from "../queue/ledger.ts";
import type { Store } from "../queue/store.ts";

type Fact = Omit<LedgerLine, "at"> & { event: ToldEvent; task: string };

/** Adds a line to the ledger unless it is there; `same`: the keys that tell it from another of its kind. */
export async function appendOnce(store: Store, fact: Fact, same: readonly string[]): Promise<void> {
  for await (const line of store.ledger({ task: fact.task })) {
    if (line.event === fact.event && same.every((key) => line[key] === fact[key])) return;
  }
  await store.append(fact);
}
