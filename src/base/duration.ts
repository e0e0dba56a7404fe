import { VivError } from "./errors.ts";

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** As written; a number is seconds, as bare digits are. */
export type Duration = string | number;

/** `90s`, `10m`, `2h`, `1d`, `500ms`; bare digits are seconds. */
export function parseDuration(text: Duration, what = "duration"): number {
  const match = /^(\d+(?:\.\d+)?|\.\d+)(ms|s|m|h|d)?$/.exec(String(text).trim());
  const ms = match ? Number(match[1]) * (UNITS[match[2] ?? "s"] ?? 1000) : Number.NaN;
  if (!(ms <= Number.MAX_SAFE_INTEGER)) {
    throw new VivError(
      "INVALID",
      `${what} ${JSON.stringify(text)} is not a duration; write it like 90s, 10m, 2h or 1d.`,
    );
  }
  return ms;
}

/** The same for a flag that may be missing. */
export function parseOptionalDuration(
  text: Duration | undefined,
  what: string,
): number | undefined {
  return text === undefined ? undefined : parseDuration(text, what);
}

/**
 * A point in time: ISO 8601 (`2026-11-15T08:00:00Z`, a zone is required so that it means the same
 * on every machine), `now`, or an offset from now (`+10m`). Returned in ISO form, UTC.
 */
export function parseTime(text: string, now: number, what = "time"): string {
  const trimmed = text.trim();
  if (trimmed === "now") return new Date(now).toISOString();
  if (trimmed.startsWith("+")) {
    const at = new Date(now + parseDuration(trimmed.slice(1), what));
    if (!Number.isNaN(at.getTime())) return at.toISOString();
    throw new VivError("INVALID", `${what} ${JSON.stringify(text)} is too far away.`);
  }
  const iso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/;
  const at = iso.test(trimmed) && isDay(trimmed.slice(0, 10)) ? Date.parse(trimmed) : Number.NaN;
  if (Number.isNaN(at)) {
    throw new VivError(
      "INVALID",
      `${what} ${JSON.stringify(text)} is not a time; write 2026-11-15T08:00:00Z or an offset like +10m.`,
    );
  }
  return new Date(at).toISOString();
}

/** Date.parse takes 31 February for 3 March. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

/** How long something took: also short times matter there. */
export function formatTook(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : formatDuration(ms);
}

/** For people: `45s`, `12m`, `3h 5m`, `2d 4h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60)
    return seconds % 60 && minutes < 10 ? `${minutes}m ${seconds % 60}s` : `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours}h ${minutes % 60}m` : `${hours}h`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}
