import type { NewEntry } from "../ledger/line.ts";
import type { WardenEvent } from "./warden-host.ts";

/**
 * The line of the ledger for an event of the pool; null for what is only for the people who watch, and
 * for what the command that caused it has recorded: a warrant that was filed or withdrawn, a pause.
 */
export function entryOf(event: WardenEvent, folder: string): NewEntry | null {
  const room = "warden" as const;
  switch (event.kind) {
    case "up":
      return { room, event: "started", agent: "warden", pid: event.pid, dogs: event.pool };
    case "stopped":
      return { room, event: "stopped", agent: "warden" };
    case "rejected":
      return { room, event: "rejected", agent: "warden", path: event.name, note: event.why };
    case "released":
      return { room, event: "released", agent: "warden", ...aboutOf(event) };
    case "begins": {
      const { dog: agent, reason: note } = event;
      return { room, event: "dance_started", agent, ...aboutOf(event), note };
    }
    case "asked": {
      const { dog: agent, target, attempt, timeout_ms, channel } = event;
      return { room, event: "asked", agent, target, attempt, timeout_ms, channel };
    }
    case "holds":
      return { room, event: "held", agent: event.dog, target: event.target, note: event.why };
    case "executes": {
      const { dog: agent, target, processes } = event;
      return { room, event: "executing", agent, target, processes };
    }
    case "verdict": {
      const { dog: agent, target, verdict, why: note } = event;
      const receipt = `${folder}/completed/${agent}.json`;
      return { room, event: verdict, agent, target, note, receipt };
    }
    default:
      return null;
  }
}

function aboutOf({ warrant, target }: { warrant: string; target: string }) {
  return { warrant, target };
}
