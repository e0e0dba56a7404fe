/**
 * Is it a command or a sentence? Taking a sentence for a command is the worse mistake, when the
 * shell happens to make a success of it. So whatever reads like English is left to a person.
 */

const words = (list: string) => new Set(list.split(/\s+/));

/** They begin sentences and name no program. */
const BEGINNINGS = words(`the a an all it its it's they this that these those there tests everything
  everyone every each code when once if only both no none nothing any some we you i he she one two
  our your my their done ok okay yes tbd todo n/a whatever somebody someone nobody output outputs
  result results files function functions page pages build builds docs documentation unit manual
  person reviewer keeper human see ask same new exits return returns run running check that's`);

/** They succeed whatever stands behind them, so a sentence that begins with one proves nothing. */
const OBLIGING =
  words(`echo printf set unset export readonly local trap wait sync times users groups
  file who hash true : exit return break continue cd pwd type let declare shift umask date
  uname yes alias jobs`);

/** They stand in sentences. In a command they would be quoted. */
const ENGLISH = words(`the an of that with without when while until should must can will be been is
  are was were has have had and or exists exist passes passed works contains prints returns its it
  because so also still successfully correctly properly`);

/** They end short sentences like "lint clean". */
const ENDINGS = words(`pass passes passed work works exist exists green succeed succeeds compiles
  builds runs fine happy correct`);
/** They end short sentences too, but may be targets: "make ready". */
const STATES = words(`clean ready done complete completed finished fixed merged deployed approved
  reviewed written closed removed updated implemented documented`);
const RUNNERS = words("make just task rake npm npx pnpm yarn bun deno cargo go mvn gradle tox git");
const SEARCHERS = words("grep egrep fgrep rg ag ack git");

export function looksLikeCommand(text: string): boolean {
  const line = text.trim();
  // A comment succeeds; a capital begins a sentence; no program's name begins with a letter like é.
  if (line === "" || /^(?:#|\p{Lu}\p{Ll}|[^\0-\x7f])/u.test(line)) return false;
  if (endsLikeSentence(line) || line.endsWith("&")) return false;
  const bare = withoutQuoted(line);
  const tokens = bare.split(/\s+/).filter((token) => token !== "");
  const first = plain(tokens[0] ?? "") || (tokens[0] ?? "");
  const last = (tokens.at(-1) ?? "").toLowerCase();
  if (BEGINNINGS.has(first)) return false;
  const chained = /&&|\|\||;/.test(bare);
  if (OBLIGING.has(first) && tokens.length > 1 && !chained) return false;
  if (first === "exit" || first === "yes") return false;
  if (first === "test" && !tokens.some((token) => /^(?:-[a-zA-Z]|!?=|==)/.test(token)))
    return false;
  if (!SEARCHERS.has(first) && tokens.some((token) => ENGLISH.has(plain(token)))) return false;
  if (tokens.length > 1 && ENDINGS.has(last)) return false;
  // "coverage > 80" compares; a shell would write a file called 80.
  if (/(?:^|\s)[<>]=?\s*\d+(?:\.\d+)?\s*%?(?:\s|$)/.test(bare.slice(0, 10_000))) return false;
  if (tokens.some((token) => isEvidence(token))) return true;
  if (/[^\0-\x7f]/.test(bare)) return false;
  if (tokens.length > 1 && STATES.has(last) && !RUNNERS.has(first)) return false;
  return tokens.length <= 3;
}

/** An option, a path, a file's name, or what only a shell writes. */
function isEvidence(token: string): boolean {
  return (
    /^--?[A-Za-z0-9]/.test(token) ||
    /^\.{1,2}$/.test(token) ||
    token.includes("/") ||
    /\w\.[A-Za-z]\w{0,4}$/.test(token.slice(-40)) ||
    /&&|[|;<>$*=\0]/.test(token)
  );
}

/** `.` may be the folder (`ruff check .`, `go test ./...`), else it ends a sentence. */
function endsLikeSentence(line: string): boolean {
  if (!/[.!?:,…]$/.test(line)) return false;
  return !/^[./]+$/.test(line.slice(-200).split(/\s/).at(-1) ?? "");
}

const plain = (token: string) =>
  token.length > 40 ? "" : token.toLowerCase().replace(/[,.:;!?]+$/, "");

/** With one NUL in place of what is quoted: it is the argument of a command, whatever it says. */
const withoutQuoted = (line: string) => masked(line).replace(/\0+/g, "\0");

/** As long as the line, with NUL for all that is quoted. */
function masked(line: string): string {
  let bare = "";
  for (let at = 0; at < line.length; at++) {
    const c = line.charAt(at);
    // An apostrophe inside a word is English: don't.
    const quotes = c === '"' || (c === "'" && !/\w/.test(line.charAt(at - 1)));
    const end = quotes ? line.indexOf(c, at + 1) : -1;
    if (quotes && end === -1) return bare + line.slice(at);
    bare += quotes ? "\0".repeat(end + 1 - at) : c;
    if (quotes) at = end;
  }
  return bare;
}

/** "`scraps/x.txt` passes", "`sort` works": a thing that is spoken of, not what is to be run. */
export function speaksOfThing(span: string, after: string): boolean {
  const text = span.trim();
  if (/^(?:true|false|null|none|nil|undefined|yes|no|ok|:|[\d.,%]+|["'{[(<].*)$/i.test(text)) {
    return !text.includes(" ");
  }
  if (/^[\w.]+\(/.test(text) && text.endsWith(")")) return true;
  if (/\s/.test(text)) return false;
  if (/\w\.(?:md|txt|json|csv|html?|toml|ya?ml|css|log|png|jpe?g|svg|pdf|xml)$/i.test(text)) {
    return true;
  }
  return /^\w+$/.test(text) && /\bworks?\b/i.test(after.slice(0, 200));
}

/** A line of a shell without the comment behind it. */
export function withoutShellComment(line: string): string {
  const at = /\s#(?=\s|$)/.exec(masked(line))?.index;
  return at === undefined ? line : line.slice(0, at).trimEnd();
}
