type Headers = Readonly<Record<string, string>>;

/** When a limit is over, by what the answer says; null when it does not. */
export function resetTime(headers: Headers, now: number): number | null {
  return retryAfter(headers, now) ?? anthropicReset(headers) ?? openaiReset(headers, now);
}

function retryAfter(headers: Headers, now: number): number | null {
  const ms = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (ms >= 0) return now + ms;
  const text = headers["retry-after"]?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return now + Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

/** Several limits are told; those with nothing remaining are the ones that were hit. */
function anthropicReset(headers: Headers): number | null {
  const times = Object.keys(headers)
    .filter((name) => /^anthropic-ratelimit-.*-remaining$/.test(name) && headers[name] === "0")
    .map((name) => Date.parse(headers[name.replace(/remaining$/, "reset")] ?? ""));
  return latest(times);
}

function openaiReset(headers: Headers, now: number): number | null {
  const times = ["requests", "tokens"]
    .filter((what) => headers[`x-ratelimit-remaining-${what}`] === "0")
    .map((what) => now + spanOf(headers[`x-ratelimit-reset-${what}`] ?? ""));
  return latest(times);
}

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `6m0s`, `1.5s`, `20ms`. */
function spanOf(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0) return Number.NaN;
  return parts.reduce((sum, [, n, unit]) => sum + Number(n) * (UNIT_MS[unit ?? ""] ?? 0), 0);
}

function latest(times: number[]): number | null {
  const known = times.filter((time) => Number.isFinite(time));
  return known.length === 0 ? null : Math.max(...known);
}
