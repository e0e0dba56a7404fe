import type { Machine, ProcessIdentity } from "../base/clock.ts";
import type { FleetState, PartState } from "./fleet-files.ts";
import type { FleetEvent, FleetHost } from "./fleet-ports.ts";

/** The parts of a supervisor that is gone, whose own processes are not. */
export function leftoversOf(
  last: FleetState | null,
  machine: Machine,
): { part: PartState; process: ProcessIdentity }[] {
  return (last?.parts ?? []).flatMap((part) => {
    const { process } = part;
    const isThere = process !== null && machine.vitality(process) === "alive";
    return isThere ? [{ part, process }] : [];
  });
}

/**
 * A supervisor that died has left its parts: they end by themselves, since their stdin has closed. Some
 * finish a task, a merge or a tick first, and are only named. A server or warden is ended here, so that
 * its port or folder is free.
 */
export async function clearLeftovers(
  last: FleetState | null,
  host: Pick<FleetHost, "machine" | "endProcess">,
  emit: (event: FleetEvent) => void,
): Promise<void> {
  for (const { part, process } of leftoversOf(last, host.machine)) {
    const { pid } = process;
    if (FINISH_FIRST.includes(part.kind)) emit({ kind: "lingers", part: part.name, pid });
    else {
      const isGone = await host.endProcess(process);
      emit({ kind: "leftover", part: part.name, pid, survivors: isGone ? [] : [pid] });
    }
  }
}

/** Their successors wait for their names. */
const FINISH_FIRST: readonly string[] = ["worker", "agents", "merge", "crew"];
