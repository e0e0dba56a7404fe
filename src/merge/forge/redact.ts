import type { Env } from "../../operation/operation.ts";

/** Names of variables whose values are no one else's business. */
const SECRET_NAME =
  /TOKEN|SECRET|PASS(WORD|WD|PHRASE)?$|API_?KEY|PRIVATE_KEY|ACCESS_KEY|CREDENTIAL/i;
/** Shorter values are words of everyday text. */
const LEAST = 8;

/** Tokens that can be told by their shape: GitHub, GitLab, model vendors, AWS, Slack, JWT, keys. */
const SHAPES: readonly RegExp[] = [
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})/g,
  /\bgl(?:pat|ptt|dt|rt|cbt|ft|soat)-[\w-]{16,}/g,
  /\bsk-[A-Za-z0-9_-]{16,}/g,
  /\bAIza[\w-]{30,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bxox[abeoprs]-[\w-]{10,}/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];
const LOGIN_IN_URL = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*(?::[^\s/@]*)?@/gi;

/**
 * A text that leaves the machine: without the values of variables that hold secrets, without what
 * looks like one, without logins in URLs, and with `~` for the home folder.
 */
export function redacted(text: string, env: Env): string {
  let safe = text;
  for (const value of secretsIn(env)) safe = safe.replaceAll(value, "***");
  for (const shape of SHAPES) safe = safe.replace(shape, "***");
  safe = safe.replace(LOGIN_IN_URL, "$1");
  const home = env.HOME?.replace(/\/+$/, "");
  return home ? safe.replaceAll(`${home}/`, "~/") : safe;
}

/** The longest first: one may be part of another. */
function secretsIn(env: Env): string[] {
  return Object.entries(env)
    .flatMap(([name, value = ""]) =>
      SECRET_NAME.test(name) && value.length >= LEAST ? [value] : [],
    )
    .sort((a, b) => b.length - a.length);
}
