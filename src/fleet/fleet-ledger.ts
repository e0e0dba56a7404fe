import type { NewEntry } from "../ledger/line.ts";
import type { FleetEvent } from "./fleet-ports.ts";

/** The line of the run's ledger for a report of the supervisor; null for what is only for people who watch. */
export function entryOf(event: FleetEvent): NewEntry | null {
  const room = "fleet" as const;
  const agent = "up";
  switch (event.kind) {
    case "up":
      return { room, event: "up_started", agent, pid: event.pid, parts: event.parts };
    case "down":
      return { room, event: "up_stopped", agent };
    case "begun":
      return { room, event: "part_started", agent, part: event.part, pid: event.pid };
    case "gone": {
      const { part, exit, note } = event;
      return { room, event: "part_ended", agent, part, exit, note: note || undefined };
    }
    case "parked":
      return { room, event: "part_parked", agent, part: event.part, note: event.note };
    case "read_anew":
      return { room, event: "config_reloaded", agent, file: event.file };
    case "config_bad":
      return { room, event: "config_bad", agent, note: event.note };
    case "said":
      return event.of === "schedules" ? scheduleEntryOf(event.event) : null;
    default:
      return null;
  }
}

function scheduleEntryOf({ kind, name, fire, why, created }: Record<string, unknown>) {
  const of = { room: "fleet" as const, agent: "schedule", schedule: name, fire };
  if (kind === "fired") return { ...of, event: "schedule_fired" as const, created };
  if (kind === "skipped") return { ...of, event: "schedule_skipped" as const, note: why };
  if (kind === "failed") return { ...of, event: "schedule_failed" as const, note: why };
  return null;
}
