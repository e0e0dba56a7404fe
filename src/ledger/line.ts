import * as z from "zod/mini";
import { parseRecord } from "../base/json.ts";

/**
 * One line of any ledger: a fact, in one schema for all rooms. `at`, `room`, `event` and `agent` are
 * on every line that is read; the other keys depend on the event.
 */
export const ledgerLine = z.looseObject({
  /** When, by the writer's clock (ISO, UTC). */
  at: z.string(),
  /** The part of the house that it happened in. Lines without one are the queue's. */
  room: z.string(),
  event: z.string(),
  /** The actor: a worker, a member, a dog, a person, or a program of ours. */
  agent: z.string(),
  task: z.optional(z.string()),
  type: z.optional(z.string()),
  note: z.optional(z.string()),
});
export type Entry = z.infer<typeof ledgerLine>;

/** `demo`: the moments of `viv demo`. */
export const ROOMS = ["queue", "crew", "warden", "fleet", "demo"] as const;

/** The events of each room; `src/queue/ledger.ts` explains those of the queue. */

export const CREW_EVENTS = [
  "started", // the crew: pid, members
  "stopped",
  "added", // a member, by a change of the manifest
  "removed",
  "tick_started", // lifecycle
  "tick_ended", // outcome, seconds, usd, note
  "saved", // ticks that its RUN-IF saves from here on: saved so far
  "held", // by its account or its budget: note, until
  "parked", // it ticks no more until a person acts: note
  "paused",
  "resumed",
  "leftover_ended", // the run of a crew that was killed: pid
  "step", // an action of a tick: tool, target
] as const;

export const WARDEN_EVENTS = [
  "started", // the pool: pid, dogs
  "stopped",
  "filed", // a warrant: warrant, target, kind, note; agent is its requester
  "rejected", // a file that is no warrant: path, note
  "withdrawn", // warrant, target
  "released", // back to the queue
  "dance_started", // a dog took the warrant: warrant, target, note
  "asked", // target, attempt, channel
  "answered", // target, nonce
  "executing", // target, processes
  "held", // an execution waits until a person resumes the pool: target, note
  "pardoned", // a verdict: target, warrant, note, receipt
  "executed", // the same
  "already_dead", // the same
  "failed", // the same: no verdict could be reached
  "pool_paused", // note
  "pool_resumed",
] as const;

export const FLEET_EVENTS = [
  "up_started",
  "up_stopped",
  "part_started", // part, pid
  "part_ended", // part, exit
  "part_parked", // restarted too often: part, note
  "config_reloaded",
  "config_bad", // the last good one counts: note
  "schedule_fired", // schedule, task
  "schedule_skipped",
  "schedule_failed", // once for a row of tries with one reason: schedule, fire, note
] as const;

export type RoomEvent =
  | { room: "crew"; event: (typeof CREW_EVENTS)[number] }
  | { room: "warden"; event: (typeof WARDEN_EVENTS)[number] }
  | { room: "fleet"; event: (typeof FLEET_EVENTS)[number] };

/** A new line of a room; `agent` is its actor. */
export type NewEntry = RoomEvent & { agent: string; [key: string]: unknown };

/** The actor of a line of ours that names none. */
export const PROGRAM = "viv";

/** Null for a torn line, and for JSON that is no line. `room`: of lines without one. */
export function entryFrom(text: string, room: string): Entry | null {
  const line = parseRecord(text);
  if (line === null || typeof line.event !== "string" || typeof line.at !== "string") return null;
  const { at, room: own, event, agent, ...rest } = line;
  for (const key of ["task", "type", "note"] as const) {
    if (rest[key] === undefined || typeof rest[key] === "string") continue;
    // By another writer: its own words, where everything that reads lines expects a text.
    if (rest[key] === null) delete rest[key];
    else rest[key] = JSON.stringify(rest[key]);
  }
  const actor = textIn(agent) ?? textIn(rest.worker) ?? textIn(rest.by) ?? PROGRAM;
  return { at, room: textIn(own) ?? room, event, agent: actor, ...rest } as Entry;
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
