import type { Machine, ProcessIdentity } from "../base/clock.ts";
import type { RunCheck } from "../queue/store.ts";
import type { FleetState, PartState } from "./fleet-files.ts";
import type { FleetEvent, FleetHost } from "./fleet-ports.ts";

/** What a supervisor that is gone may have left: its own parts, and what it has found itself. */
export function partsLeftBy(last: FleetState | null): PartState[] {
  return last === null ? [] : [...last.parts, ...(last.left ?? [])];
}

/** Those of these parts whose processes are there. */
export function leftoversOf(
  parts: readonly PartState[],
  machine: Machine,
): { part: PartState; process: ProcessIdentity }[] {
  return parts.flatMap((part) => {
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
  parts: readonly PartState[],
  host: Pick<FleetHost, "machine" | "endProcess">,
  emit: (event: FleetEvent) => void,
): Promise<void> {
  for (const { part, process } of leftoversOf(parts, host.machine)) {
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

/** A check of `viv doctor`. `read`: the run's `state.json`, and whether its supervisor is there. */
export function checkLeftovers(
  read: () => { last: FleetState | null; isUp: boolean },
  machine: Machine,
): RunCheck {
  return async ({ find }) => {
    const { last, isUp } = read();
    const parts = isUp ? (last?.left ?? []) : partsLeftBy(last);
    for (const { part, process } of leftoversOf(parts, machine)) {
      await find({
        code: "left_over_worker",
        path: ".viv/up/fleet/state.json",
        message: `${part.name} (pid ${process.pid}) still runs, though its viv up is gone`,
        repair: `none needed: it ends after what it has begun, or at once with: ${endNow(process.pid, isUp)}`,
      });
    }
  };
}

/** Its closed stdin counts as the first signal, so that one more means "at once". */
export function endNow(pid: number, isUp: boolean): string {
  return isUp ? `kill -TERM ${pid}` : "viv down --now";
}
