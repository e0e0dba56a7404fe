const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * `90s`, `10m`, `2h`; bare digits are milliseconds, unlike elsewhere: this is the grammar of a
 * crew's files. In milliseconds, or null for anything else, also for what is too long to count.
 */
export function parseInterval(text: string): number | null {
  const match = /^(\d+)([smh]?)$/.exec(text);
  if (match === null) return null;
  const ms = Number(match[1]) * (UNITS[match[2] as string] ?? 1);
  return ms <= Number.MAX_SAFE_INTEGER ? ms : null;
}
