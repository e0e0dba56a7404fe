import type { LedgerLine } from "../../live/events.ts";
import { amount, clock, dollars } from "../../parts/format.ts";
import type { Tone } from "../../parts/glyph.tsx";
import { plain } from "../../parts/plain.ts";

/** A line of the ledger as the wire shows it. */
export interface WireLine {
  /** Unique: the place of the line. */
  key: string;
  at: string;
  room: string;
  /** The event, or how an attempt ended. */
  word: string;
  tone: Tone;
  /** A task's id, or what else it is about. */
  subject: string;
  isTask: boolean;
  who: string;
  /** `claimed → waiting`. */
  move: string;
  text: string;
  cost: string;
  /** Steps and usage are many and say little: they stand back. */
  isQuiet: boolean;
  line: LedgerLine;
}

const TONES: Record<string, Tone> = {
  claimed: "working",
  done: "done",
  handed_in: "done",
  landed: "done",
  approved: "done",
  pardoned: "done",
  failed: "failed",
  unproven: "failed",
  timed_out: "failed",
  abandoned: "failed",
  executed: "failed",
  merge_red: "failed",
  quarantined: "failed",
  crashed: "failed",
  killed: "failed",
  conflict: "review",
  needs_you: "review",
  held: "review",
  asked: "review",
  parked: "review",
  rejected: "review",
  paused: "review",
  rate_limited: "review",
  cancelled: "failed",
  enqueued: "ready",
  promoted: "ready",
};

const QUIET = ["step", "usage", "reserved"];

const text = (value: unknown): string => (typeof value === "string" ? plain(value) : "");

export function wireLine(line: LedgerLine, key: string): WireLine {
  const { event } = line;
  const outcome = event === "ended" ? text(line.outcome) : "";
  const word = outcome || text(event) || "?";
  const isReview = event === "ended" && line.to === "review";
  const task = text(line.task);
  const subject =
    task || text(line.target) || text(line.account) || text(line.dog) || text(line.part);
  const who = text(line.worker) || text(line.agent) || text(line.by);
  const isMoved = typeof line.from === "string" && typeof line.to === "string";
  return {
    key,
    at: text(line.at),
    room: text(line.room) || "queue",
    word: isReview ? "review" : word,
    tone: isReview ? "review" : (TONES[word] ?? "none"),
    subject: subject || who,
    isTask: task !== "",
    who: subject === "" ? "" : who,
    move: isMoved ? `${text(line.from)} → ${text(line.to)}` : "",
    text: detailOf(line),
    cost: typeof line.usd === "number" && line.usd > 0 ? dollars(line.usd, 3) : "",
    isQuiet: QUIET.includes(text(event)),
    line,
  };
}

/** Events whose attempt is worth a word. */
const NUMBERED = ["claimed", "asked", "watched"];

/** What else it says, in one line. */
function detailOf(line: LedgerLine): string {
  const { event } = line;
  if (event === "step") {
    const step = [text(line.tool), text(line.target)].filter(Boolean).join(" ");
    return step || text(line.text) || text(line.model);
  }
  if (event === "usage") return usageOf(line);
  const words = [
    typeof line.attempt === "number" && NUMBERED.includes(event) ? `attempt ${line.attempt}` : "",
    line.proof === "passed" ? "proven" : "",
    text(line.note) || text(line.text) || text(line.why) || text(line.reason),
    text(line.target) && event === "landed" ? `into ${text(line.target)}` : "",
    typeof line.commit === "string" ? line.commit.slice(0, 7) : "",
    typeof line.retry_at === "string" ? `again at ${clock(line.retry_at)}` : "",
    event === "enqueued" && text(line.type) !== "" ? `type ${text(line.type)}` : "",
    text(line.receipt).split("/").at(-1) ?? "",
  ];
  return words.filter(Boolean).join(", ");
}

function usageOf(line: LedgerLine): string {
  const models = Array.isArray(line.models) ? (line.models as Record<string, unknown>[]) : [];
  const of = (one: Record<string, unknown>, key: string) =>
    typeof one[key] === "number" ? (one[key] as number) : 0;
  return models
    .map((one) => {
      const tokens = `${amount(of(one, "input") + of(one, "cache_read"))} in, ${amount(of(one, "output"))} out`;
      return [text(one.model), tokens, text(one.source)].filter(Boolean).join("  ");
    })
    .join("; ");
}

/** The filters of the wire, as the address has them. */
export interface WireFilter {
  room: string;
  event: string;
  agent: string;
  task: string;
  type: string;
  text: string;
}

/** Each that is set must fit; commas mean "one of". */
export function fits(
  { line, word, room, who, text: detail }: WireLine,
  filter: WireFilter,
): boolean {
  const one = (wanted: string, ...values: unknown[]) =>
    wanted === "" || wanted.split(",").some((each) => values.includes(each.trim()));
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = `${word} ${detail} ${text(line.task)} ${who} ${text(line.type)}`.toLowerCase();
  return (
    one(filter.room, room) &&
    one(filter.event, word, line.event) &&
    one(filter.agent, line.agent, line.worker, line.by) &&
    one(filter.task, line.task) &&
    one(filter.type, line.type) &&
    words.every((each) => all.includes(each))
  );
}

const KEYS = ["room", "event", "agent", "task", "type"] as const;

/** `task:port.131 who:ada timed out`: words with a name go to their filter, the rest is searched. */
export function parseWords(typed: string): WireFilter {
  const filter: WireFilter = { room: "", event: "", agent: "", task: "", type: "", text: "" };
  for (const word of typed.split(/\s+/).filter(Boolean)) {
    const at = word.indexOf(":");
    const name = word.slice(0, at);
    const key = name === "who" || name === "worker" ? "agent" : KEYS.find((one) => one === name);
    if (key !== undefined && at < word.length - 1) filter[key] = word.slice(at + 1);
    else filter.text = `${filter.text} ${word}`.trim();
  }
  return filter;
}

/** Ends of attempts: the wire calls them by their outcome. */
const ENDS =
  "done failed unproven timed_out rate_limited setup_failed abandoned released handed_in review";

/** The part of a filter that `viv ledger show` knows; the rest is done here. */
export function historyQuery({
  room,
  event,
  agent,
  task,
  type,
}: WireFilter): Record<string, string> {
  const words = event.split(",").filter(Boolean);
  const known = words.map((one) => (ENDS.split(" ").includes(one) ? "ended" : one));
  const events = [...new Set(known)].join(",");
  const query = { rooms: room, events, agents: agent, tasks: task, types: type };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
}
