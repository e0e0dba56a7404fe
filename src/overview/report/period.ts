import { statSync } from "node:fs";
import { unlessRefused } from "../../base/errors.ts";
import { parseSince } from "../../base/since.ts";
import type { RunContext } from "../../queue/operation.ts";
import type { Store } from "../../queue/store.ts";
import { type CrewFacts, reportPort, type WardenFacts } from "./report-port.ts";

/**
 * A period that was asked for, with what the crew and the warden did in it. `notes`: why one of them is
 * left out. A folder that is not to be trusted, or a file that is damaged, costs its part only.
 */
export async function readPeriod(context: RunContext, wanted: string) {
  const now = context.now();
  const asked = parseSince(wanted, now);
  const port = await context.use(reportPort);
  const notes: string[] = [];
  const note = (message: string) => void notes.push(message);
  const crew = await unlessRefused(() => port.crew(context, asked), note);
  const warden = await unlessRefused(() => port.warden(context, asked), note);
  const since = await periodFrom(context.store, asked, crew, warden);
  return { now, since, crew, warden, notes, port };
}

/**
 * From when on something is told: as asked, but not before anything had happened. That is when the run
 * began, by its first line in the ledger or its folder, or the first run of a crew member, or kill.
 */
async function periodFrom(
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
