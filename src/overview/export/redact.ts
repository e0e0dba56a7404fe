/**
 * Takes out of a text that is published: paths of this machine, names of its host and user, and what
 * looks like a secret. Every text of an export goes through it. It cannot know all secrets: a person
 * who publishes artifacts still reads them, or leaves them out.
 */
export interface Private {
  /** Folders of this machine, and what stands for them. */
  folders: readonly (readonly [path: string, shown: string])[];
  /** First parts of absolute paths that are of this machine: `home`, `tmp`. */
  roots: readonly string[];
  /** Names, and what stands for them. Whole words only. */
  names: readonly (readonly [name: string, shown: string])[];
  /** Known secrets, literally. */
  secrets: readonly string[];
  /** Texts that are left out: ` --run DIR` in commands. */
  dropped: readonly string[];
}

export type Redact = (text: string) => string;

const GONE = "[redacted]";

export function redactor(known: Private): Redact {
  const literal: Redact[] = [
    ...known.dropped.filter(Boolean).map(
      (one): Redact =>
        (text) =>
          text.replaceAll(one, ""),
    ),
    ...byLength(known.secrets.map((one) => [one, GONE])).map(replacer),
  ];
  const folders = byLength(known.folders).map(([path, shown]): Redact => {
    const pattern = new RegExp(`${literally(path)}(?![\\w-]|\\.\\w)`, "g");
    return (text) => (text.includes(path) ? text.replace(pattern, shown) : text);
  });
  const names = byLength(known.names).map(([name, shown]): Redact => {
    const pattern = new RegExp(`(?<![A-Za-z0-9])${literally(name)}(?![A-Za-z0-9])`, "gi");
    return (text) => text.replace(pattern, shown);
  });
  const steps = [...literal, withoutSecrets, ...folders, pathsBelow(known.roots), ...names];
  return (text) => steps.reduce((said, step) => step(said), text);
}

type Pair = readonly [text: string, shown: string];

/** The longest first: a folder before the one that it is in. */
function byLength(pairs: readonly Pair[]): Pair[] {
  return [...pairs].sort(([a], [b]) => b.length - a.length);
}

function replacer([text, shown]: Pair): Redact {
  return (said) => said.replaceAll(text, shown);
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** `…/name` for any other path; those of the system (`/usr/bin/env`) are everyone's. URLs stay. */
function pathsBelow(roots: readonly string[]): Redact {
  if (roots.length === 0) return (text) => text;
  const part = "[^\\s\"'`<>|:;,(){}\\[\\]*?\\\\]";
  const path = `\\/(?:${roots.map(literally).join("|")})(?:\\/${part}*)?(?![\\w-])`;
  const pattern = new RegExp(
    `file:\\/\\/${part}*|https?:\\/\\/${part}+|(?<![\\w.~/-])${path}`,
    "gi",
  );
  return (text) => {
    if (!text.includes("/")) return text;
    return text.replace(pattern, (found) =>
      /^https?:/i.test(found) ? found : `…/${found.replace(/\/+$/, "").split("/").at(-1)}`,
    );
  };
}

const NAMED =
  "password|passwd|passphrase|secret|token|(?:api|access|private|account|shared|signing|encryption)[_-]?key";
/** In JSON that is a text of JSON, quotes have backslashes before them. */
const QUOTE = "\\\\{0,3}[\"']";
/** No secret: a number of tokens, a flag. */
const HARMLESS = /^["']?(?:[\d.,]+|true|false|null|none|undefined|\[redacted\].*)["']?$/i;

/** Each is linear in the text: repetitions are bounded, or end at a character that they exclude. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY[^-]{0,20}-----(?:(?!-----END )[\s\S])*(?:-----END [A-Z ]{0,40}-----)?/g,
    GONE,
  ],
  [
    /\b((?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]{0,20}(?:key|token))((?:\\{0,3}["'])?\s{0,3}[:=]\s{0,3}(?:\\{0,3}["'])?)[^\r\n"']+/gi,
    `$1$2${GONE}`,
  ],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${GONE}`],
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@"'<>]{1,400}@/gi, `$1${GONE}@`],
  [
    /([?&][\w-]{0,30}(?:token|key|secret|sig|signature|password|auth|code)[\w-]{0,10}=)[^&#\s"'<>]+/gi,
    `$1${GONE}`,
  ],
  [/\b(?:sk|rk|pk)[-_][\w-]{10,}/g, GONE],
  // Addresses that anybody may post to who knows them.
  [/\b(hooks\.slack\.com\/\w{1,20}\/|discord(?:app)?\.com\/api\/webhooks\/)[\w/-]+/gi, `$1${GONE}`],
  [/(?<![\w-])(?:bot)?\d{8,10}:[\w-]{35}(?![\w-])/g, GONE],
  [/(\s(?:-u|--user)[\s=]["']?)[^\s:"']{1,100}:[^\s"']+/g, `$1${GONE}`],
  [/\b(?:viv_[\w-]{40,}|AGE-SECRET-KEY-[A-Z0-9]{10,}|hv[sbr]\.[\w-]{10,})/g, GONE],
  [
    /\b(?:gh[pousr]_|gsk_|xai-|r8_|github_pat_|glpat-|npm_|hf_|dop_v1_|whsec_|pypi-|xox[a-z]-|xapp-|ya29\.|AIza|shpat_|lin_api_)[\w-]{10,}/g,
    GONE,
  ],
  [/\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}/g, GONE],
  [/\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]+)?/g, GONE],
  [/\bSG\.[\w-]{16,}\.[\w-]{16,}/g, GONE],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}\.[a-z]{2,24}\b/gi, "[redacted e-mail]"],
];

const VALUE = `\\\\{0,3}"[^"\\r\\n]{3,}"?|\\\\{0,3}'[^'\\r\\n]{3,}'?`;
/** `password: x`, `"api_key": "x"`, `<token>x`; after a flag, or in quotes, a space is enough. */
const NAMED_VALUES: readonly RegExp[] = [
  `([\\w.-]{0,40}(?:${NAMED})[\\w-]{0,20}(?:${QUOTE})?\\s{0,3}[:=>]\\s{0,3})(${VALUE}|[^\\s"',;<>{}()]{3,})`,
  `(--?[\\w-]{0,30}(?:${NAMED})\\s{1,3})(${VALUE}|[^\\s"'<>-][^\\s"'<>]{2,})`,
  `((?:password|passphrase)\\s{1,3})(${VALUE})`,
].map((text) => new RegExp(text, "gi"));
/** The end of a key whose beginning was cut off. */
const KEY_END = /^[\s\S]*-----END [A-Z ]{0,40}PRIVATE KEY[^-]{0,20}-----/;

function withoutSecrets(text: string): string {
  let said = text;
  for (const [pattern, shown] of SECRETS) said = said.replace(pattern, shown);
  for (const pattern of NAMED_VALUES) {
    said = said.replace(pattern, (whole, name: string, value: string) =>
      HARMLESS.test(value) ? whole : `${name}${GONE}`,
    );
  }
  return said.includes("PRIVATE KEY") ? said.replace(KEY_END, GONE) : said;
}
