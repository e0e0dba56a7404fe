import { parseDuration, parseTime } from "./duration.ts";
import { VivError } from "./errors.ts";

const CLOCK = /^(?:(today|tomorrow)\s+)?([01]?\d|2[0-3]):([0-5]\d)$/i;
const DURATION = /^\d+(\.\d+)?(ms|s|m|h|d)$/;

/**
 * A moment to come, as people say it: a time of `parseTime`, a duration from now (`2h`, `+2h`), a
 * time of day (`22:00`: the next one), or `today 22:00`, `tomorrow 6:00`. Times of day are this
 * machine's. On a day on which the clock changes, a time that is skipped means as much later, and a
 * time that comes twice means the first. Returned in ISO form, UTC.
 */
export function parseWhen(text: string, now: number, what = "time"): string {
  const trimmed = text.trim();
  if (DURATION.test(trimmed)) {
    parseDuration(trimmed, what); // its own words for what is no duration
    return parseTime(`+${trimmed}`, now, what);
  }
  const [, day, hours, minutes] = CLOCK.exec(trimmed) ?? [];
  if (hours !== undefined) return clockTime(now, Number(hours), Number(minutes), day, text, what);
  try {
    return parseTime(trimmed, now, what);
  } catch (error) {
    if (/too far/.test(String(error))) throw error;
    const forms = "22:00, tomorrow 6:00, 2h, or 2026-11-15T08:00:00Z";
    throw new VivError("INVALID", `${what} ${JSON.stringify(text)} is not a time; write ${forms}.`);
  }
}

function clockTime(
  now: number,
  hours: number,
  minutes: number,
  day: string | undefined,
  text: string,
  what: string,
): string {
  const on = (days: number) => {
    const today = new Date(now);
    const [year, month, date] = [today.getFullYear(), today.getMonth(), today.getDate() + days];
    return new Date(year, month, date, hours, minutes);
  };
  if (day?.toLowerCase() === "tomorrow") return on(1).toISOString();
  const today = on(0);
  if (today.getTime() > now) return today.toISOString();
  if (day === undefined) return on(1).toISOString();
  throw new VivError(
    "INVALID",
    `${what} ${JSON.stringify(text)} is over; write tomorrow ${hours}:${String(minutes).padStart(2, "0")}.`,
  );
}
