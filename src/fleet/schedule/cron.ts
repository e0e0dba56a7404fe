/** Cron patterns, by croner. */

type Croner = typeof import("croner");

let croner: Croner | undefined;

/** Before a pattern is read: croner is loaded only where viv.toml has schedules. */
export async function loadCron(): Promise<void> {
  croner ??= await import("croner");
}

/** The times of a pattern, in milliseconds since the epoch. */
export interface Fires {
  /** The first one after that time; null: there is none. */
  after(time: number): number | null;
}

/**
 * A local time that does not exist, because summer time begins, is the moment of the change; one that
 * exists twice, because it ends, is the first of both. A pattern with `*` in its hours or minutes goes
 * by the time that passes: it has no fire in the missing hour, and fires in both. Croner does so for a
 * single time of the day; lists and ranges of times are looked up as local times here.
 */
export function firesOf(pattern: string, timezone: string): Fires {
  if (!isFixed(pattern)) {
    const cron = cronOf(pattern, timezone);
    return { after: (time) => cron.nextRun(new Date(time))?.getTime() ?? null };
  }
  const cron = cronOf(pattern, "UTC"); // its times are local ones, read as if they were of UTC
  const offsetAt = offsetsOf(timezone);
  return {
    after: (time) => {
      let local = cron.nextRun(new Date(time + offsetAt(time)));
      while (local !== null) {
        const at = timeOf(local.getTime(), offsetAt);
        if (at > time) return at;
        local = cron.nextRun(local);
      }
      return null;
    },
  };
}

function cronOf(pattern: string, timezone: string) {
  if (croner === undefined) throw new Error("croner is not loaded");
  return new croner.Cron(pattern, { timezone, mode: "5-or-6-parts", paused: true });
}

/** Whether its hours and minutes are named. */
function isFixed(pattern: string): boolean {
  const [hour = "*", minute = "*"] = pattern.trim().split(/\s+/).reverse().slice(3);
  return !/[*?]/.test(hour + minute);
}

const DAY_MS = 86_400_000;

/** The time at which clocks show `local`, which is written as if it were UTC. */
function timeOf(local: number, offsetAt: (time: number) => number): number {
  const [before, after] = [offsetAt(local - DAY_MS), offsetAt(local + DAY_MS)];
  let [last, first] = [local - before, local - after];
  if (offsetAt(last) === before) return last;
  if (offsetAt(first) === after) return first;
  // It is left out: the change lies between.
  while (last - first > 1) {
    const middle = Math.floor((first + last) / 2);
    if (offsetAt(middle) === before) first = middle;
    else last = middle;
  }
  return last;
}

/** One of each zone: a format takes some 30 KB, and most schedules share theirs. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** How far clocks there are ahead of UTC at a time. */
function offsetsOf(timeZone: string): (time: number) => number {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" });
  formats.set(timeZone, format);
  return (time) => {
    const name = format.formatToParts(time).find(({ type }) => type === "timeZoneName")?.value;
    const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(name ?? "") ?? [];
    const ahead = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
    return sign === "-" ? -ahead : ahead;
  };
}

/** What is wrong with it; null: nothing, or croner is not loaded. */
export function patternProblem(pattern: string, timezone: string, now: number): string | null {
  if (croner === undefined) return null;
  try {
    // Croner takes a date for a pattern of one fire, which never fires after it.
    if (cronOf(pattern, timezone).getOnce() !== null) return "it is a date, which does not repeat";
    return firesOf(pattern, timezone).after(now) === null ? "it never fires" : null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return message.replace(/^Cron\w*: */, "").replace(/\.$/, "");
  }
}

export function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export function localTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** For people: `2026-11-18 07:00`, in that zone. */
export function localTime(time: number, timezone: string): string {
  const seconds = time % 60_000 === 0 ? {} : ({ second: "2-digit" } as const);
  const format = new Intl.DateTimeFormat("sv-SE", {
    ...{ timeZone: timezone, year: "numeric", month: "2-digit", day: "2-digit" },
    ...{ hour: "2-digit", minute: "2-digit", ...seconds },
  });
  return format.format(time);
}
