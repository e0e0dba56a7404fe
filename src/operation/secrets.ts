import type { Env } from "../operation/operation.ts";

/**
 * What looks like a secret, or is the value of a variable that is called like one. Texts that leave the
 * machine go through it: pull requests, words of a forge, exports. It knows forms, not meanings.
 */
const GONE = "[redacted]";

/** The values of these are secret. */
const SECRET_NAME =
  /TOKEN|SECRET|PASS(WORD|WD|PHRASE)?$|API_?KEY|PRIVATE_KEY|ACCESS_KEY|CREDENTIAL/i;
/** And of these, unless the value is a path (SSH_AUTH_SOCK, a file with a key) or a word. */
const MAYBE_NAME = /KEY|PASS|AUTH|COOKIE/i;
/** Shorter values are words of everyday text. */
const LEAST = 8;

export function secretsIn(env: Env): string[] {
  return Object.entries(env).flatMap(([name, value = ""]) => {
    const isSecret = SECRET_NAME.test(name) || (MAYBE_NAME.test(name) && isNoWord(value));
    return isSecret && value.length >= LEAST ? [value] : [];
  });
}

function isNoWord(value: string): boolean {
  return !value.startsWith("/") && /[\d_=+/-]|[A-Z].*[a-z]|[a-z].*[A-Z]/.test(value);
}

/** Known secrets, literally; the longest first, because one may be part of another. */
export function withoutKnown(text: string, secrets: readonly string[]): string {
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  return longestFirst.reduce((said, one) => said.replaceAll(one, GONE), text);
}

const NAMED =
  "password|passwd|passphrase|secret|token|(?:api|access|private|account|shared|signing|encryption)[_-]?key";
/** In JSON that is a text of JSON, quotes have backslashes before them. */
const QUOTE = "\\\\{0,3}[\"']";
/** No secret: a number of tokens, a flag; what a sentence about a flag goes on with. */
const HARMLESS =
  /^["']?(?:[\d.,]+|true|false|null|none|undefined|flags?|options?|arguments?|parameters?|fields?|\[redacted\].*)["']?$/i;
/** Of a sentence: a secret has digits, signs or capitals in it. */
const WORDS =
  /^[(]?[A-Z]?[a-z]{1,20}(?:[.,;:!?)]{0,3}\s{1,3}[(]?[A-Z]?[a-z]{1,20}){0,40}[.,;:!?)]{0,3}$/;
/** A word or two may be all that a header has to hide. */
const HEADER = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-)/i;
const PASSWORD = /pass(?:word|wd|phrase)|secret/i;

/** Each is linear in the text: repetitions are bounded, or end at a character that they exclude. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY[^-]{0,20}-----(?:(?!-----END )[\s\S])*(?:-----END [A-Z ]{0,40}-----)?/g,
    GONE,
  ],
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@"'<>]{1,400}@/gi, `$1${GONE}@`],
  [
    /([?&][\w-]{0,30}(?:token|key|secret|sig|signature|password|auth|code)[\w-]{0,10}=)[^&#\s"'<>]+/gi,
    `$1${GONE}`,
  ],
  // Not a name of words, as sk-learn-compatible.
  [/\b(?:sk|rk|pk)[-_](?![a-z]{1,20}(?:-[a-z]{1,12}){1,8}(?![\w-]))[\w-]{10,}/g, GONE],
  // Addresses to which every client that knows them may post.
  [/\b(hooks\.slack\.com\/\w{1,20}\/|discord(?:app)?\.com\/api\/webhooks\/)[\w/-]+/gi, `$1${GONE}`],
  [/(?<![\w-])(?:bot)?\d{8,10}:[\w-]{35}(?![\w-])/g, GONE],
  [/(\s(?:-u|--user)[\s=]["']?)[^\s:"']{1,100}:[^\s"']+/g, `$1${GONE}`],
  [/\b(?:viv_[\w-]{40,}|AGE-SECRET-KEY-[A-Z0-9]{10,}|hv[sbr]\.[\w-]{10,})/g, GONE],
  [
    /\b(?:gh[pousr]_|gsk_|xai-|r8_|github_pat_|gl(?:pat|ptt|dt|rt|cbt|ft|soat)-|npm_|hf_|dop_v1_|whsec_|pypi-|xox[a-z]-|xapp-|ya29\.|AIza|shpat_|lin_api_)[\w-]{10,}/g,
    GONE,
  ],
  [/\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}/g, GONE],
  [/\beyJ[\w-]{8,1000}\.[\w-]{4,}(?:\.[\w-]+)?/g, GONE],
  [/\bSG\.[\w-]{16,}\.[\w-]{16,}/g, GONE],
];

const VALUE = `\\\\{0,3}"[^"\\r\\n]{3,}"?|\\\\{0,3}'[^'\\r\\n]{3,}'?`;
/** A name and its value, which may be harmless. The last three: `password: x`, `"api_key": "x"`, `<token>x`; after a flag, or in quotes, a space is enough. */
const NAMED_VALUES: readonly RegExp[] = [
  `(\\b(?:(?:proxy-)?authorization|(?:set-)?cookie|x-[\\w-]{0,20}(?:key|token))(?:${QUOTE})?\\s{0,3}[:=]\\s{0,3}(?:${QUOTE})?)([^\\r\\n"']+)`,
  `(\\b(?:bearer|basic)\\s+)([\\w.~+/=-]{8,})`,
  `([\\w.-]{0,40}(?:${NAMED})[\\w-]{0,20}(?:${QUOTE})?\\s{0,3}[:=>]\\s{0,3})(${VALUE}|[^\\s"',;<>{}()]{3,})`,
  `(--?[\\w-]{0,30}(?:${NAMED})\\s{1,3})(${VALUE}|[^\\s"'<>-][^\\s"'<>]{2,})`,
  `((?:password|passphrase)\\s{1,3})(${VALUE})`,
].map((text) => new RegExp(text, "gi"));

function isHarmless(name: string, value: string, rest: string): boolean {
  const isProse = WORDS.test(value);
  if (HEADER.test(name)) return isProse && /\S\s+\S+\s+\S/.test(value);
  if (HARMLESS.test(value)) return true;
  // "token=hunter" has a secret, and so has "password: hunter"; a sentence goes on.
  return isProse && !PASSWORD.test(name) && !/[=>]\s*$/.test(name) && /^ [a-z]/i.test(rest);
}

/** The end of a key whose beginning was cut off. */
const KEY_END = /^[\s\S]*-----END [A-Z ]{0,40}PRIVATE KEY[^-]{0,20}-----/;

/** The text without what looks like a secret. */
export function withoutSecrets(text: string): string {
  let said = text;
  for (const [pattern, shown] of SECRETS) said = said.replace(pattern, shown);
  for (const pattern of NAMED_VALUES) {
    said = said.replace(pattern, (whole: string, name: string, value: string, at, text) => {
      const rest = text.slice(at + whole.length, at + whole.length + 2);
      return isHarmless(name, value, rest) ? whole : `${name}${GONE}`;
    });
  }
  return said.includes("PRIVATE KEY") ? said.replace(KEY_END, GONE) : said;
}
