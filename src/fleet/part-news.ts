import { parseRecord } from "../base/json.ts";
import { counted } from "../base/text.ts";
import type { PartStateName } from "./fleet-files.ts";
import type { PartKind } from "./parts.ts";

/** An event that a part wrote on one line. */
export type PartEvent = Record<string, unknown> & { kind: string };

export function eventIn(line: string): PartEvent | null {
  const event = parseRecord(line);
  return typeof event?.kind === "string" ? (event as PartEvent) : null;
}

type Heard = Extract<PartStateName, "working" | "idle" | "paused">;

/** What is known of a part from its events, since it was started. */
export interface PartNews {
  /** While nothing is at hand. */
  resting: Heard;
  /** Tasks, ticks or dances at hand, by name, in words. */
  atHand: ReadonlyMap<string, string>;
  /** What it does when nothing is at hand. */
  base: string;
  note: string;
  /** Of a worker: why it holds tasks back, which it tells when that changes. */
  holds: string;
  /** Of a worker: the note is about what was, and is over when it goes on. */
  isPast: boolean;
}

export const NO_NEWS: PartNews = {
  ...{ resting: "idle", atHand: new Map(), base: "", note: "", holds: "", isPast: false },
};

/** The news after an event. An event of an unknown kind only says that the part is there. */
export function afterEvent(news: PartNews, kind: PartKind, event: PartEvent): PartNews {
  return READERS[kind]?.(news, event) ?? news;
}

export function heardState({ atHand, resting }: PartNews): Heard {
  return atHand.size > 0 ? "working" : resting;
}

export function doingOf({ atHand, base }: PartNews): string {
  const all = [...atHand.values()];
  if (all.length === 0) return base;
  const more = all.length > MOST_NAMED ? [`${all.length - MOST_NAMED} more`] : [];
  return [...all.slice(0, MOST_NAMED), ...more].join(", ");
}

const MOST_NAMED = 3;

type Reader = (news: PartNews, event: PartEvent) => PartNews;

const READERS: Partial<Record<PartKind, Reader>> = {
  worker: (news, event) => {
    switch (event.kind) {
      case "started":
        return { ...news, base: typesIn(event.types) };
      case "claimed": {
        const again = Number(event.attempt) > 1 ? `, attempt ${event.attempt}` : "";
        const now = news.isPast ? { ...news, note: news.holds, isPast: false } : news;
        return withOne(now, text(event.id), `${text(event.id)} (${text(event.type)}${again})`);
      }
      case "ended":
        return withoutOne(news, text(event.id));
      case "held": {
        const reasons = Array.isArray(event.reasons) ? event.reasons.map(String) : [];
        // Not in how long: it is read for hours.
        const holds = reasons.map((reason) => reason.replace(/ \(in [^)]*\)/, "")).join("; ");
        return {
          ...news,
          resting: holds === "" ? "idle" : "paused",
          note: holds,
          holds,
          isPast: false,
        };
      }
      case "trouble":
        // A viv.toml with mistakes stays so until it is read anew.
        return { ...news, note: text(event.message), isPast: event.code !== "INVALID" };
      case "reloaded":
        return { ...news, note: news.holds, isPast: false };
      default:
        return news;
    }
  },
  merge: (news, event) => {
    if (event.kind === "landing")
      return { ...news, base: `${text(event.id)} ${text(event.landing)}` };
    if (event.kind === "trouble") return { ...news, note: text(event.message) };
    return { ...news, base: news.base || "lands what is done" };
  },
  crew: (news, event) => {
    switch (event.kind) {
      case "up":
        return { ...news, base: countOf(event.members, "member") };
      case "runs":
        return withOne(news, text(event.name), text(event.name));
      case "ran": {
        const after = withoutOne(news, text(event.name));
        const isWell = event.outcome === "done" || event.outcome === "no_work";
        return isWell && isPassed(news.note, text(event.name)) ? { ...after, note: "" } : after;
      }
      case "removed":
        return isPassed(news.note, text(event.name)) ? { ...news, note: "" } : news;
      case "trouble":
        return { ...news, note: `${text(event.name)}: ${text(event.message)}` };
      case "reloaded":
        return { ...news, note: "" };
      default:
        return news;
    }
  },
  agents: (news, event) => {
    if (event.kind === "up") return { ...news, base: countOf(event.agents, "agent") };
    if (event.kind === "parked") {
      return { ...news, note: `${text(event.name)} is parked: ${text(event.note)}` };
    }
    return news;
  },
  warden: (news, event) => {
    switch (event.kind) {
      case "up":
        return { ...news, base: counted(Number(event.pool) || 0, "dog") };
      case "begins":
      case "resumes":
        return withOne(news, text(event.dog), `${text(event.dog)} asks ${text(event.target)}`);
      case "verdict":
      case "released":
        return withoutOne(news, text(event.dog));
      case "trouble":
        return { ...news, note: text(event.what ?? event.message) };
      default:
        return news;
    }
  },
  server: (news, event) => {
    if (typeof event.address === "string") {
      return { ...news, resting: "working", base: event.address };
    }
    if (event.kind === "reloaded") return { ...news, note: "" };
    if (event.kind === "written" && news.note.startsWith(text(event.file))) {
      return { ...news, note: "" };
    }
    return event.kind === "trouble" ? { ...news, note: text(event.message) } : news;
  },
  reaper: told,
  schedules: told,
  notifications: told,
};

/** A crew's note is of this member, or of the gate: the manifest's stays until that can be used again. */
function isPassed(note: string, member: string): boolean {
  return note.startsWith(`${member}: `) || note.startsWith("gate: ");
}

/** Of a clock: what it does next, and what went wrong. */
function told(news: PartNews, event: PartEvent): PartNews {
  const { kind, doing } = event;
  const note =
    kind === "trouble" ? text(event.message) : kind === "well" ? text(event.note) : news.note;
  return { ...news, note, base: typeof doing === "string" ? doing : news.base };
}

function withOne(news: PartNews, name: string, words: string): PartNews {
  return { ...news, atHand: new Map(news.atHand).set(name, words) };
}

function withoutOne(news: PartNews, name: string): PartNews {
  const atHand = new Map(news.atHand);
  atHand.delete(name);
  return { ...news, atHand };
}

function typesIn(types: unknown): string {
  return Array.isArray(types) ? `waits for ${types.join(", ")}` : "waits for any task";
}

function countOf(list: unknown, noun: string): string {
  return counted(Array.isArray(list) ? list.length : 0, noun);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : String(value);
}
