import { oneLine } from "../base/text.ts";
import type { Target } from "./config.ts";

/** What a `[[notify]]` can ask for. */
export const NOTIFY_EVENTS = [
  "review", // a task waits for a person's approval
  "done",
  "choked", // three times the same failure with one worker
  "failed", // for good
  "idle", // nothing is left to do
  "budget_80", // of the run or of the day
  "budget_used",
  "account_closed",
  "executed", // the warden ended an agent
  "parked", // a member of a crew waits for a correction
  "schedule_failed", // its tasks could not be enqueued
  "landed",
  "conflict", // with the target of the merge
  "merge_red", // the proof of a merge failed
  "reworked", // a done task went back
  "held", // a merge cannot go on now
  "pr_opened",
  "pr_closed",
  "needs_you", // each of those that wait for a person
] as const;
export type NotifyEvent = (typeof NOTIFY_EVENTS)[number];

/** One fact that a person may want to hear of. */
export interface News {
  /** The same for the same fact, in whichever process it is seen. */
  fact: string;
  event: NotifyEvent;
  /** Those who asked for one of these get it, too. */
  also?: readonly NotifyEvent[];
  at: string;
  /** The task, account, member or agent that it is about. */
  subject?: string;
  /** Of the task. */
  type?: string;
  /** One sentence, with the text of tasks and models in it: cleaned and cut. */
  text: string;
  /** The command that helps. */
  todo?: string;
}

const WAITS_FOR_PEOPLE: readonly NotifyEvent[] = [
  ...(["review", "failed", "budget_used", "account_closed", "parked", "held"] as const),
  "schedule_failed",
];

const MAX_TEXT = 500;

export function newsOf(news: News): News {
  const { also = [], text } = news;
  const isForPeople = [news.event, ...also].some((one) => WAITS_FOR_PEOPLE.includes(one));
  const all = isForPeople ? [...also, "needs_you" as const] : also;
  return { ...news, also: all.length > 0 ? all : undefined, text: oneLine(text, MAX_TEXT) };
}

/** Whether a target that asked for these events and types wants it. */
export function isWanted(
  { event, also = [], type }: News,
  { on, types }: Pick<Target, "on" | "types">,
): boolean {
  if (![event, ...also].some((one) => on.includes(one))) return false;
  // What is about no task is not about another type.
  return types === undefined || type === undefined || types.includes(type);
}
