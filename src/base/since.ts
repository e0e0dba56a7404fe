import { parseDuration, parseTime } from "./duration.ts";
import { VivError } from "./errors.ts";

/** From when on: so long ago (`2h`), a day (`2026-11-15`, from midnight UTC) or a time. In ISO form. */
export function parseSince(text: string, now: number): string {
  const trimmed = text.trim();
  // With a unit: 2026 alone is sooner a year than so many seconds.
  if (/^[\d.]+[a-z]+$/.test(trimmed)) {
    const ms = parseDuration(trimmed, "--since");
    // Nothing happened before 1970.
    return new Date(Math.max(0, now - ms)).toISOString();
  }
  const time = /^\d{4}-\d{2}-\d{2}$/.test(trimmed) ? `${trimmed}T00:00:00Z` : trimmed;
  try {
    return parseTime(time, now, "--since");
  } catch (cause) {
    const message = `--since ${JSON.stringify(text)} is not a time; write 2h, 7d, 2026-11-15 or 2026-11-15T08:00:00Z.`;
    throw new VivError("INVALID", message, {}, { cause });
  }
}
