import { suggest } from "../base/names.ts";
import { CREW_EVENTS, FLEET_EVENTS, WARDEN_EVENTS } from "../ledger/line.ts";
import { LEDGER_EVENTS } from "./ledger.ts";

const EVENTS: ReadonlySet<string> = new Set([
  ...[...LEDGER_EVENTS, ...CREW_EVENTS, ...WARDEN_EVENTS, ...FLEET_EVENTS],
  "moment", // of the demo
]);

/** Of a filter: other programs may write events of their own, so an unknown one is no mistake for sure. */
export function unknownEvents(events: Iterable<string> = []): string[] {
  const unknown = [...events].filter((event) => !EVENTS.has(event));
  return unknown.map((event) => {
    const meant = suggest(event.slice(0, 128), EVENTS);
    const hint = meant === undefined ? ", but another program may" : `; did you mean ${meant}?`;
    return `viv writes no event ${JSON.stringify(event)}${hint}`;
  });
}
