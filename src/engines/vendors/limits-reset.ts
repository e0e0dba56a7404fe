/**
 * When a limit is lifted, read out of what a vendor says about it. The forms: a moment as a number
 * or in ISO form; a length of time ("in 3 hours 5 minutes", "34.07s"); a time of day, with or
 * without a date and a time zone ("resets Apr 23 at 4pm (America/Recife)").
 */
export function resetTime(text: string, now: number): number | null {
  const said = text.slice(0, 20_000);
  for (const form of [stamp, isoMoment, span, timeOfDay]) {
    const at = believable(form(said, now), now);
    if (at !== null) return at;
  }
  return null;
}

/** A moment that is past, or a season away, was read wrong, or is of no use. */
export function believable(at: number | null, now: number): number | null {
  return at !== null && at > now && at < now + FAR ? Math.round(at) : null;
}

const FAR = 35 * 24 * 3600_000;

/** Seconds since 1970, or milliseconds, as a vendor gives them. */
export function epochMs(value: number): number {
  return value > 1e11 ? value : value * 1000;
}

function stamp(text: string): number | null {
  const found = /(?:\||resets?_?at\W{1,4})(\d{10}|\d{13})\b/i.exec(text);
  return found === null ? null : epochMs(Number(found[1]));
}

function isoMoment(text: string): number | null {
  const found = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)/.exec(text);
  return found === null ? null : nullIfNaN(Date.parse(found[0]));
}

const UNIT_MS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const;

function span(text: string, now: number): number | null {
  const millis = /\b(?:retry[ _-]?after[ _-]?ms|retry_delay_ms)\W{1,4}(\d+)/i.exec(text);
  if (millis !== null) return now + Number(millis[1]);
  const found =
    /\b(?:retry[ _-]?delay|retry[ _-]?after|resets?_in_seconds|(?:again|retry|retrying|resets?) (?:in|after))\W{1,4}((?:\d+(?:\.\d+)?\s*(?:[a-z]+\b|[dhms](?=\d))?[,\s]*(?:and\s+)?)+)/i.exec(
      text,
    );
  if (found === null) return null;
  let total = 0;
  let any = false;
  for (const part of (found[1] ?? "").matchAll(/(\d+(?:\.\d+)?)\s*([a-z]*)/gi)) {
    const amount = Number(part[1]);
    const unit = (part[2] ?? "").toLowerCase();
    const ms = unit === "" ? 1000 : unit === "ms" ? 1 : unitMs(unit);
    if (ms === null) break;
    total += amount * ms;
    any = true;
  }
  return any ? now + total : null;
}

function unitMs(word: string): number | null {
  if (!/^(d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)$/.test(word)) return null;
  return UNIT_MS[word[0] as keyof typeof UNIT_MS];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAY_TIME =
  /\b(?:again|resets?|until)\s+(?:at\s+|on\s+)?(?:([a-z]{3})[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?,?\s+(?:at\s+)?)?(\d{1,2})(?::(\d\d))?\s*([ap])\.?m\b\.?(?:\s*\(([\w/+-]+)\))?/i;

function timeOfDay(text: string, now: number): number | null {
  const found = DAY_TIME.exec(text);
  if (found === null) return null;
  const [, month, day, year, hour, minute, half, zoneName] = found;
  const hours = (Number(hour) % 12) + (half?.toLowerCase() === "p" ? 12 : 0);
  const zone = knownZone(zoneName);
  const today = wallClock(now, zone);
  if (month === undefined) {
    const at = (daysOn: number) =>
      instant({ ...today, day: today.day + daysOn, hours, minutes: Number(minute ?? 0) }, zone);
    return at(0) > now ? at(0) : at(1);
  }
  const monthIndex = MONTHS.indexOf(month.toLowerCase());
  if (monthIndex < 0) return null;
  const on = { month: monthIndex, day: Number(day), hours, minutes: Number(minute ?? 0) };
  if (year !== undefined) return instant({ ...on, year: Number(year) }, zone);
  // At the turn of the year, January is next year's.
  const thisYear = instant({ ...on, year: today.year }, zone);
  return thisYear > now ? thisYear : instant({ ...on, year: today.year + 1 }, zone);
}

interface WallClock {
  year: number;
  month: number;
  day: number;
  hours: number;
  minutes: number;
}

/** What clocks in that zone show at that moment; without a zone, the clock of this machine. */
function wallClock(at: number, zone: string | undefined): WallClock {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  }).formatToParts(at);
  const value = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  return {
    year: value("year"),
    month: value("month") - 1,
    day: value("day"),
    hours: value("hour"),
    minutes: value("minute"),
  };
}

function instant(clock: WallClock, zone: string | undefined): number {
  const wanted = utc(clock);
  // The zone's distance from UTC can change between the guess and the answer, so look twice.
  let at = wanted;
  for (let i = 0; i < 2; i++) at += wanted - utc(wallClock(at, zone));
  return at;
}

function utc({ year, month, day, hours, minutes }: WallClock): number {
  return Date.UTC(year, month, day, hours, minutes);
}

function knownZone(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return name;
  } catch {
    // A name this machine does not know: its own clock is the best guess left.
    return undefined;
  }
}

function nullIfNaN(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
