import { isVivError } from "../base/errors.ts";
import { crewPs } from "../crew/operations.ts";
import { gate } from "../gate/operations.ts";
import type { Context } from "../operation/operation.ts";
import type { FleetPort } from "../overview/page/fleet.ts";

/** What the page's fleet says of crew, gate, parts and schedules: as their own commands find them here. */
export const fleetFacts: FleetPort = {
  crew: (context) => ifThere(() => crewPs.run(context, {})),
  gate: (context) => ifThere(() => gate.run(context, {})),
  parts: async (_context: Context) => null,
  schedules: async (_context: Context) => null,
};

/** A crew that is not there, or that cannot be read, must not hide the workers. */
async function ifThere<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (isVivError(error)) return null;
    throw error;
  }
}
