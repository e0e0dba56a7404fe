/** Dollars for people: cents, and for what costs less than a dime also its fractions. */
export function formatUsd(usd: number): string {
  if (usd > 0 && usd < 0.0001) return "<$0.0001";
  const digits = usd > 0 && usd < 0.1 ? 4 : 2;
  // The last bits of a sum depend on the order of its parts: halves are rounded up all the same.
  return `$${grouped((usd + 1e-10).toFixed(digits))}`;
}

/** How many, for people: `1,250,000`. */
export function formatCount(count: number): string {
  return grouped(String(Math.round(count)));
}

/** How many, in a narrow column: `950`, `12.5k`, `1.25M`. */
export function shortCount(count: number): string {
  if (count < 1000) return String(Math.round(count));
  // What would be rounded up to a thousand thousands is a million.
  const [size, unit] = count < 999_950 ? [1e3, "k"] : count < 999_950_000 ? [1e6, "M"] : [1e9, "G"];
  const value = count / (size as number);
  return `${Number(value.toFixed(value < 10 ? 2 : 1))}${unit}`;
}

/** The language's own grouping would load its tables first, and depends on the machine. */
function grouped(number: string): string {
  return number.replace(/(?<!\..*)\B(?=(\d{3})+(?!\d))/g, ",");
}
