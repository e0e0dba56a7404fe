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
 * by the time that passes: it has no fire in the missing hour, and fires in both.
 */
export function firesOf(pattern: string, timezone: string): Fires {
  if (croner === undefined) throw new Error("croner is not loaded");
  const cron = new croner.Cron(pattern, { timezone, mode: "5-or-6-parts", paused: true });
  return { after: (time) => cron.nextRun(new Date(time))?.getTime() ?? null };
}

/** What is wrong with it; null: nothing, or croner is not loaded. */
export function patternProblem(pattern: string, timezone: string, now: number): string | null {
  if (croner === undefined) return null;
  try {
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
