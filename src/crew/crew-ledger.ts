import type { NewEntry } from "../ledger/line.ts";
import type { CrewEvent } from "./crew-ports.ts";
import type { CrewLine } from "./member-status.ts";

/** The line of the ledger for an event of a crew; null for what is only for the people who watch. */
export function entryOf(event: CrewEvent): NewEntry | null {
  const room = "crew" as const;
  switch (event.kind) {
    case "up":
      return { room, event: "started", agent: "crew", pid: event.pid, members: event.members };
    case "finished":
      return { room, event: "stopped", agent: "crew" };
    case "runs":
      return { room, event: "tick_started", agent: event.name, lifecycle: event.lifecycle };
    case "ran": {
      const { name: agent, outcome, seconds, note, usd } = event;
      return { room, event: "tick_ended", agent, outcome, seconds, usd, note };
    }
    case "saved":
      return { room, event: "saved", agent: event.name, saved: event.saved, note: event.note };
    case "held":
      return { room, event: "held", agent: event.name, note: event.note, until: event.until };
    case "parked":
    case "paused":
    case "resumed":
    case "added":
    case "removed":
      return { room, event: event.kind, agent: event.name, note: event.note || undefined };
    case "leftover":
      return { room, event: "leftover_ended", agent: event.name, pid: event.pid };
    default:
      return null;
  }
}

/** Of a step of a run; thoughts are for the feed, and ends have a line of their own. */
export function stepEntryOf(line: CrewLine): NewEntry | null {
  if (!("tool" in line)) return null;
  const { agent, tool, target } = line;
  return { room: "crew", event: "step", agent, kind: "tool", tool, target };
}
