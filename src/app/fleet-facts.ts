import { unlessRefused } from "../base/errors.ts";
import type { CrewLine } from "../crew/member-status.ts";
import { crewPs } from "../crew/operations.ts";
import { findCrew } from "../crew/requests.ts";
import { type PsOutput, ps } from "../fleet/fleet-operations.ts";
import { type ScheduleList, scheduleLs } from "../fleet/schedule/operations.ts";
import { gate } from "../gate/operations.ts";
import type { Context } from "../operation/operation.ts";
import type { FleetPort } from "../overview/page/fleet.ts";

const RECENT = 12;
/** Steps and ends together: enough for the last ends of a crew. */
const LINES = 4000;

/**
 * What the page's fleet says of crew, gate, parts and schedules: as their own commands find them here. What is
 * not there, or cannot be read, must not hide the workers.
 */
export const fleetFacts: FleetPort = {
  crew: (context) => unlessRefused(() => crewOf(context)),
  gate: (context) => unlessRefused(() => gate.run(context, {})),
  parts: (context) => unlessRefused(() => partsHere(context)),
  schedules: (context) => unlessRefused(() => schedulesHere(context)),
};

async function partsHere(context: Context): Promise<PsOutput | null> {
  const found = await ps.run(context, {});
  return found.running || found.parts.length > 0 ? found : null;
}

async function schedulesHere(context: Context): Promise<ScheduleList | null> {
  const found = await scheduleLs.run(context, {});
  return found.schedules.length > 0 ? found : null;
}

/** As `crew ps`; of each member also its engine, and how its last ticks ended, oldest first. */
async function crewOf(context: Context) {
  const { state, files } = await findCrew(context, undefined);
  const answer = await crewPs.run(context, { state });
  const lines = files.lastLines(LINES);
  const members = answer.members.map((member) => {
    const status = files.status(member.name) ?? files.status("");
    return { ...member, engine: status?.engine ?? null, recent: endsOf(lines, member.name) };
  });
  return { ...answer, members };
}

function endsOf(lines: readonly CrewLine[], name: string): string[] {
  const ends = lines.flatMap((line) => ("run" in line && line.agent === name ? line.run : []));
  return ends.slice(-RECENT);
}
