import { VivError } from "./errors.ts";
import { shown } from "./text.ts";

const UNITS: Record<string, number> = {
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
  ti: 2 ** 40,
};

/** Bytes: `512KB`, `10MB`, `1GB`, `2TB` in thousands, `16MiB` in 1024s; bare digits are bytes. */
export function parseSize(text: string, what = "size"): number {
  const match = /^(\d+(?:\.\d+)?) ?(?:([kmgt]i?)?b)?$/i.exec(text.trim());
  const unit = match?.[2]?.toLowerCase();
  const bytes = match ? Math.floor(Number(match[1]) * (unit ? (UNITS[unit] ?? 1) : 1)) : Number.NaN;
  if (!(bytes <= Number.MAX_SAFE_INTEGER)) {
    const message = `${what} ${shown(text)} is not a size; write it like 512KB, 10MB or 1GB.`;
    throw new VivError("INVALID", message);
  }
  return bytes;
}

/** `512 B`, `1.2 MB`, in thousands. */
export function formatSize(bytes: number): string {
  const [unit, scale] = (
    [
      ["TB", 1e12],
      ["GB", 1e9],
      ["MB", 1e6],
      ["kB", 1e3],
    ] as const
  ).find(([, least]) => bytes >= least) ?? ["B", 1];
  const value = bytes / scale;
  return `${value >= 100 || unit === "B" ? Math.round(value) : Number(value.toFixed(1))} ${unit}`;
}
