/**
 * Numbers and times in one form everywhere: durations in two units at most, one on cards; a clock
 * of 24 hours; dollars with one precision per column; counts with commas.
 */

const two = (n: number) => String(Math.floor(n)).padStart(2, "0");

/** `48s`, `12m 04s`, `5h 12m`, `2d 03h`; short: `48s`, `12m`, `5h`, `2d`. */
export function duration(ms: number, short = false): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return short ? `${m}m` : `${m}m ${two(s % 60)}s`;
  const h = Math.floor(m / 60);
  if (h < 24) return short ? `${h}h` : `${h}h ${two(m % 60)}m`;
  const d = Math.floor(h / 24);
  return short ? `${d}d` : `${d}d ${two(h % 24)}h`;
}

/** How long something took: also short times matter there. */
export function took(ms: number): string {
  // Clocks that are set back make negative ones.
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : duration(ms);
}

export function count(n: number): string {
  return Math.round(n).toLocaleString("en-US");
}

/** `counted(1, "task")` is `1 task`. */
export function counted(n: number, noun: string, plural = `${noun}s`): string {
  return `${count(n)} ${n === 1 ? noun : plural}`;
}

/** `$41.86`; 3 places for amounts per task or step. */
export function dollars(usd: number, places = 2): string {
  const sign = usd < 0 ? "−" : "";
  const fixed = { minimumFractionDigits: places, maximumFractionDigits: places };
  return `${sign}$${Math.abs(usd).toLocaleString("en-US", fixed)}`;
}

/** Of a budget of 0 all is used. */
export const shareOf = ({ spent, limit }: { spent: number; limit: number }) =>
  limit === 0 ? 1 : spent / limit;

export const percent = (share: number) => `${Math.round(share * 100)}%`;

/** `148k`, `2.3M`: of tokens. */
export function amount(n: number): string {
  if (n < 1000) return String(Math.round(n));
  if (n < 999_500) return `${Math.round(n / 1000)}k`;
  return `${(n / 1e6).toFixed(n < 9.95e6 ? 1 : 0)}M`;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 ** 2) return `${(n / 1024).toFixed(n < 10_240 ? 1 : 0)} kB`;
  return `${(n / 1024 ** 2).toFixed(1)} MB`;
}

type Time = string | number | Date;

/** `07:42`, of this browser's zone. */
export function clock(time: Time): string {
  const date = new Date(time);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** `07:42:18`: in logs. */
export function clockSeconds(time: Time): string {
  return `${clock(time)}:${two(new Date(time).getSeconds())}`;
}

/** `07:42:18.621`: in the wire. */
export function clockMillis(time: Time): string {
  return `${clockSeconds(time)}.${String(new Date(time).getMilliseconds()).padStart(3, "0")}`;
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** `07:42` on the day of `now`, else `Sun 15, 07:42`. */
export function moment(time: Time, now: Time = Date.now()): string {
  const date = new Date(time);
  const isToday = date.toDateString() === new Date(now).toDateString();
  return isToday ? clock(date) : `${DAYS[date.getDay()]} ${date.getDate()}, ${clock(date)}`;
}

/** For a title: the day and the time in full. */
export function fullTime(time: Time): string {
  const date = new Date(time);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${clockSeconds(date)}`;
}

/** A word in a shell, quoted where it must be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
