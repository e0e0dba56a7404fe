import * as z from "zod/mini";
import { parseRecord } from "../base/json.ts";
import { oneLine } from "../base/text.ts";
import type { News } from "./news.ts";

/**
 * A message to one target, and its states: a folder each, below the outbox.
 *   new       entered; waits for its time, for quiet hours to end, or for another try
 *   sending   a process has begun to send it
 *   sent      the other side has taken it
 *   failed    it was refused, or the tries are used up
 *   unsure    it was sent, and no answer came, or the sender died: it is not sent again by itself
 */
export const MESSAGE_STATES = ["new", "sending", "sent", "failed", "unsure"] as const;
export type MessageState = (typeof MESSAGE_STATES)[number];

const item = z.object({
  fact: z.string(),
  event: z.string(),
  at: z.string(),
  subject: z.optional(z.string()),
  type: z.optional(z.string()),
  text: z.string(),
  todo: z.optional(z.string()),
});

const messageShape = z.object({
  id: z.string(),
  target: z.string(),
  /** The run, the crew or the warden that it is about. */
  place: z.string(),
  /** When it was entered. */
  entered: z.string(),
  /** One; or the first of many that came at once. */
  items: z.array(item),
  /** Of each event, with those that `items` leaves out. */
  counts: z.record(z.string(), z.number()),
  /** How many times it was tried. */
  tries: z.number(),
  /** Not before. */
  due: z.optional(z.string()),
  /** Why it is not sent, of the last try. */
  reason: z.optional(z.string()),
  /** What became of it: written before it leaves `sending`. */
  end: z.optional(z.object({ state: z.enum(MESSAGE_STATES), at: z.string() })),
  /** What a program of the warden's gets instead of the items. */
  whole: z.optional(z.unknown()),
  /** It was sent in one with this message. */
  with: z.optional(z.string()),
});
export type Message = z.output<typeof messageShape>;
export type Item = z.output<typeof item>;

/** Null for what is none of ours: a person may put anything there. */
export function parseMessage(text: string, id: string): Message | null {
  const message = messageShape.safeParse(parseRecord(text)).data;
  return message?.id === id ? message : null;
}

/** News, or what else a message may be about. */
type Told = Omit<News, "event"> & { event: string };

/** The most that one message lists. */
export const MOST_ITEMS = 20;

export function newMessage(
  about: Pick<Message, "id" | "target" | "place" | "entered">,
  news: readonly Told[],
): Message {
  const items = news.slice(0, MOST_ITEMS).map(({ also: _, ...one }) => one);
  return { ...about, items, counts: countsOf(news), tries: 0 };
}

function countsOf(news: readonly { event: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { event } of news) counts[event] = (counts[event] ?? 0) + 1;
  return counts;
}

/** What is said, of one message or of several at once. */
export interface Said {
  id: string;
  place: string;
  /** The event, or `digest` of several. */
  event: string;
  title: string;
  items: Item[];
  counts: Record<string, number>;
  total: number;
  /** Sent as it is. */
  whole?: unknown;
}

const MAX_TITLE = 120;

export function saidOf(messages: readonly Message[], prefix: string | undefined): Said {
  const [first] = messages as [Message, ...Message[]];
  const counts: Record<string, number> = {};
  for (const message of messages) {
    for (const [event, n] of Object.entries(message.counts)) {
      counts[event] = (counts[event] ?? 0) + n;
    }
  }
  const all = messages.flatMap(({ items }) => items);
  const total = Object.values(counts).reduce((sum, n) => sum + n, 0);
  const [only] = all;
  const isOne = total === 1 && only !== undefined;
  const sums = Object.entries(counts).map(([event, n]) => `${n} ${event}`);
  const what = isOne ? [only.event, only.subject].filter(Boolean).join(" ") : sums.join(", ");
  return {
    ...{ id: first.id, place: first.place, event: isOne ? only.event : "digest" },
    title: oneLine(`${prefix ?? "viv"} ${first.place}: ${what}`, MAX_TITLE),
    ...{ items: all.slice(0, MOST_ITEMS), counts, total, whole: first.whole },
  };
}

/** As text for people: a line for each event. */
export function linesOf({ items, total }: Said): string[] {
  const lineOf = ({ at, text, todo }: Item) => {
    const time = total === 1 ? "" : `${clockTime(at)} `;
    return `${time}${text}${todo === undefined ? "" : ` (${todo})`}`;
  };
  const more = total - items.length;
  return [...items.map(lineOf), ...(more > 0 ? [`and ${more} more; see: viv ls`] : [])];
}

function clockTime(at: string): string {
  const date = new Date(at);
  const two = (n: number) => String(n).padStart(2, "0");
  return Number.isNaN(date.getTime()) ? "" : `${two(date.getHours())}:${two(date.getMinutes())}`;
}
