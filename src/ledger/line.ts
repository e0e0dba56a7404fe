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

/** The events of each room; `src/queue/ledger.ts` explains those of the queue. */
export const ROOMS = ["queue", "crew", "warden", "fleet"] as const;
export type Room = (typeof ROOMS)[number];

export const CREW_EVENTS = [
  "started", // a member runs: pid
  "stopped",
  "tick_started", // run
  "tick_ended", // run, outcome, changed, usd
  "saved", // the keeper committed: commit
  "parked", // a member ticks no more: note says why
  "unparked",
  "paused", // by a person, or by its rules
  "resumed",
  "step", // an action of the model in a tick
] as const;

export const WARDEN_EVENTS = [
  "filed", // a warrant: warrant, target, by, note
  "withdrawn",
  "dance_started", // a dog took the warrant
  "asked", // a question was put to the suspect: round
  "answered",
  "pardoned",
  "executed", // receipt
  "already_dead",
  "failed", // the dance came to no verdict
  "held", // nothing is ended until a person resumes the pool
  "pool_paused",
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
] as const;

export type RoomEvent =
  | { room: "crew"; event: (typeof CREW_EVENTS)[number] }
  | { room: "warden"; event: (typeof WARDEN_EVENTS)[number] }
  | { room: "fleet"; event: (typeof FLEET_EVENTS)[number] };

/** A new line of a room; `agent` is its actor. */
export type NewEntry = RoomEvent & { agent: string; [key: string]: unknown };

/** The actor of a line of ours that names none. */
const PROGRAM = "viv";

/** Null for a torn line, and for JSON that is no line. `room`: of lines without one. */
export function entryFrom(text: string, room: string): Entry | null {
  const line = parseRecord(text);
  if (line === null || typeof line.event !== "string" || typeof line.at !== "string") return null;
  const agent = textIn(line.agent) ?? textIn(line.worker) ?? textIn(line.by) ?? PROGRAM;
  const { at, event } = line;
  return { ...line, at, room: textIn(line.room) ?? room, event, agent } as Entry;
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
