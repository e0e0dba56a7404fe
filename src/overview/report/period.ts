import { statSync } from "node:fs";
import type { Store } from "../../queue/store.ts";
import type { CrewFacts, WardenFacts } from "./report-port.ts";

/**
 * From when on something is told: as asked, but not before anything had happened. That is when the run
 * began, by its first line in the ledger or its folder, or the first run of a crew member, or kill.
 */
export async function periodFrom(
  store: Store,
  asked: string,
  crew: CrewFacts | null,
  warden: WardenFacts | null,
): Promise<string> {
  const began = await beganAt(store);
  if (began === null) return asked;
  const others = [
    ...(crew?.runs ?? []).map(({ from }) => from),
    ...(warden?.kills ?? []).map(({ at }) => Date.parse(at)),
  ];
  const first = others.reduce((least, at) => Math.min(least, at), began);
  return first > Date.parse(asked) ? new Date(first).toISOString() : asked;
}

/** Null where nothing tells it. */
async function beganAt(store: Store): Promise<number | null> {
  for await (const { at } of store.ledger()) {
    const first = Date.parse(at);
    // Files that were moved by hand may be older than the ledger.
    if (!Number.isNaN(first)) return Math.min(first, statSync(store.folder).birthtimeMs);
  }
  return null;
}
