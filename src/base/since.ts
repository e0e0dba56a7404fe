import { parseDuration, parseTime } from "./duration.ts";
import { VivError } from "./errors.ts";

/**
 * From when on: so long ago (`2h`), a day (`2026-11-15`, from midnight UTC), a time, or the last time that the
 * clock of this machine showed `22:00`. In ISO form.
 */
export function parseSince(text: string, now: number): string {
  const trimmed = text.trim();
  // With a unit: 2026 alone is sooner a year than so many seconds.
  if (/^[\d.]+[a-z]+$/.test(trimmed)) {
    const ms = parseDuration(trimmed, "--since");
    // Nothing happened before 1970.
    return new Date(Math.max(0, now - ms)).toISOString();
  }
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(trimmed) ?? [];
  if (hour !== undefined) return lastAt(Number(hour), Number(minute), now);
  const time = /^\d{4}-\d{2}-\d{2}$/.test(trimmed) ? `${trimmed}T00:00:00Z` : trimmed;
  try {
    const at = parseTime(time, now, "--since");
    if (Date.parse(at) <= now) return at;
  } catch (cause) {
    const message = `--since ${JSON.stringify(text)} is not a time; write 2h, 7d, 22:00, 2026-11-15 or 2026-11-15T08:00:00Z.`;
    throw new VivError("INVALID", message, {}, { cause });
  }
  throw new VivError("INVALID", `--since ${JSON.stringify(text)} lies in the future.`);
}

/** In the zone of this machine: a person types what the clock on the wall shows. */
function lastAt(hour: number, minute: number, now: number): string {
  const at = new Date(now);
  at.setHours(hour, minute, 0, 0);
  if (at.getTime() > now) at.setDate(at.getDate() - 1);
  return at.toISOString();
}
