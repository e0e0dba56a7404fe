import { VivError } from "../base/errors.ts";

/** Local times, in minutes since midnight. `from` may be later than `to`: then it is over midnight. */
export interface Quiet {
  from: number;
  to: number;
}

export function parseQuiet(text: string): Quiet {
  const match = /^\s*(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})\s*$/.exec(text);
  const [fromHour, fromMinute, toHour, toMinute] = (match?.slice(1) ?? []).map(Number);
  const from = minutesOf(fromHour, fromMinute);
  const to = minutesOf(toHour, toMinute);
  if (from === null || to === null || from % 1440 === to % 1440) {
    const message = `quiet ${JSON.stringify(text)} is no time of the day; write it like 23:00-07:00.`;
    throw new VivError("INVALID", message);
  }
  return { from: from % 1440, to: to % 1440 };
}

function minutesOf(hour: number | undefined, minute: number | undefined): number | null {
  if (hour === undefined || minute === undefined) return null;
  const minutes = hour * 60 + minute;
  return minute < 60 && minutes <= 1440 ? minutes : null;
}

/**
 * The end of the quiet hours that `now` is in; null when it is in none. By the local clock: a night
 * in which that is set forward is an hour shorter.
 */
export function quietUntil(now: number, { from, to }: Quiet): number | null {
  const local = new Date(now);
  const minute = local.getHours() * 60 + local.getMinutes();
  const isOverMidnight = from > to;
  const isQuiet = isOverMidnight ? minute >= from || minute < to : minute >= from && minute < to;
  if (!isQuiet) return null;
  const day = isOverMidnight && minute >= from ? 1 : 0;
  const end = (later: number) =>
    new Date(
      ...([local.getFullYear(), local.getMonth(), local.getDate() + later] as const),
      ...([Math.floor(to / 60), to % 60] as const),
    ).getTime();
  // The hour that comes twice in autumn: its first end may be past already.
  return end(day) > now ? end(day) : now + 60_000;
}
