import { VivError } from "./errors.ts";
import { shown } from "./text.ts";

const UNITS: Record<string, number> = {
  k: 1e3,
  m: 1e6,
  g: 1e9,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
};

/** Bytes: `512KB`, `10MB`, `1GB` in thousands, `16MiB` in 1024s; bare digits are bytes. */
export function parseSize(text: string, what = "size"): number {
  const match = /^(\d+(?:\.\d+)?) ?(?:([kmg]i?)?b)?$/i.exec(text.trim());
  const unit = match?.[2]?.toLowerCase();
  const bytes = match ? Math.floor(Number(match[1]) * (unit ? (UNITS[unit] ?? 1) : 1)) : Number.NaN;
  if (!(bytes <= Number.MAX_SAFE_INTEGER)) {
    const message = `${what} ${shown(text)} is not a size; write it like 512KB, 10MB or 1GB.`;
    throw new VivError("INVALID", message);
  }
  return bytes;
}

/** For people: `512 B`, `1.5 kB`, `12 MB`. */
export function formatSize(bytes: number): string {
  let amount = bytes;
  let unit = "B";
  for (const next of ["kB", "MB", "GB", "TB"]) {
    if (amount < 1000) break;
    amount /= 1000;
    unit = next;
  }
  return `${unit === "B" || amount >= 10 ? Math.round(amount) : amount.toFixed(1)} ${unit}`;
}
