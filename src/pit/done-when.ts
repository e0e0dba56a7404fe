import { fenceFor, longestBackticks } from "../base/text.ts";
import { contentOf, findFences } from "./food-fields.ts";

/**
 * The field done-when of a food: a command whose success is the proof, or words for a person.
 * A command is
 * - a fenced block without a language or with that of a shell,
 * - a code span, where the words around it only ask that it passes (`npm test` is green),
 * - a plain line that looks like a command.
 * Of several, also in a list, all must pass. Everything else is a question to a person: a sentence
 * that is taken for a command proves nothing when the shell happens to make a success of it.
 */
export type DoneWhen = { command: string } | { words: string };

export function readDoneWhen(value: string): DoneWhen {
  const text = value.replace(/\r\n?/g, "\n");
  const commands = fromFences(text) ?? fromLines(text) ?? fromLine(text) ?? [];
  return commands.length === 0 ? { words: text.trim() } : { command: joined(commands) };
}

/**
 * Writes a command so that readDoneWhen gives it back. (Not one that is only a comment, or has a
 * carriage return.)
 */
export function quoteDoneWhen(command: string): string {
  if (command.includes("\n")) {
    const fence = fenceFor(command);
    const whole = command.startsWith("set -e\n") && command.trim() === command;
    return `${fence}sh${whole ? "" : " verbatim"}\n${command}\n${fence}`;
  }
  const ticks = "`".repeat(longestBackticks(command) + 1);
  const pad = /^`|`$|^ .* $/.test(command) ? " " : "";
  return ticks + pad + command + pad + ticks;
}

const SHELLS = new Set(["", "sh", "bash", "shell", "zsh", "console", "shell-session", "cmd"]);

/** Null without a fence; empty when the fences are not commands. */
function fromFences(text: string): string[] | null {
  const lines = text.split("\n");
  const fences = findFences(lines);
  if (fences.length === 0) return null;
  const commands: string[] = [];
  const around: string[] = [];
  let from = 0;
  for (const fence of fences) {
    around.push(lines.slice(from, fence.open).join("\n"));
    from = fence.close + 1;
    const [language = "", how] = fence.info.toLowerCase().split(/\s+/);
    const content = contentOf(lines, fence);
    if (!SHELLS.has(language) || isNothing(content)) return [];
    commands.push(how === "verbatim" ? content : script(content));
  }
  around.push(lines.slice(from).join("\n"));
  return asksForSuccess(around) ? commands : [];
}

/** Every line of a script must succeed: by itself a shell reports only the last one. */
function script(content: string): string {
  const lines = content.split("\n").filter((line) => line.trim() !== "");
  if (lines[0]?.trimStart().startsWith("$ ")) {
    const typed = lines.map((line) => line.trimStart()).filter((line) => line.startsWith("$ "));
    const commands = typed.map((line) => line.slice(2)).join("\n");
    return typed.length > 1 ? `set -e\n${commands}` : commands;
  }
  const trimmed = content.replace(/^(?:[ \t]*\n)+/, "").trimEnd();
  const isOne = lines.filter((line) => !line.trimStart().startsWith("#")).length < 2;
  const checksItself = trimmed.includes("$?") || /^\s*set -[a-z]*e/.test(trimmed);
  return isOne || checksItself ? trimmed : `set -e\n${trimmed}`;
}

const MARKER = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?/;

/** A list, or several lines with code spans. Each line must be a command. */
function fromLines(text: string): string[] | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const isItem = (line: string) => MARKER.test(line) || line.includes("`");
  const intro = lines[0] !== undefined && !isItem(lines[0]) ? (lines.shift() ?? "") : "";
  if (!lines.every(isItem) || !BEFORE.test(words(intro))) return null;
  const commands: string[] = [];
  for (const line of lines) {
    const command = fromLine(line);
    if (command === null) return null;
    commands.push(...command);
  }
  return commands;
}

function fromLine(text: string): string[] | null {
  const line = withoutComments(text.replace(MARKER, ""));
  const spans = spansOf(line);
  if (spans.length === 0) return fromPlain(line);
  const starts = [...spans.map(({ start }) => start), line.length];
  const around = starts.map((start, i) => line.slice(spans[i - 1]?.end ?? 0, start));
  // "`a.txt` and `b.txt` exist": the word behind the last is about all of them.
  const isAboutAll = /^\s+(?:must |should )?(?:both |all )?exist(?![\w-])/i.test(
    around.at(-1) ?? "",
  );
  const areFiles = isAboutAll && spans.every(({ content }) => PATH.test(content.trim()));
  const commands = spans.map(({ content }, i) => {
    const gap = around[i + 1] ?? "";
    const exists = EXISTS.exec(gap)?.[0];
    const isFile = (exists !== undefined || areFiles) && PATH.test(content.trim());
    if (isFile && exists !== undefined) around[i + 1] = ` passes${gap.slice(exists.length)}`;
    if (!isFile && isChecker(content)) around[i + 1] = gap.replace(NO_ERRORS, " passes");
    return isFile ? `test -e ${content.trim()}` : content;
  });
  if (isAboutAll && !areFiles && spans.length > 1) return null;
  if (commands.some((one) => one.startsWith("test -e "))) {
    around[0] = (around[0] ?? "").replace(/^\s*(?:when )?(?:both )?(?:the )?(?:files? )?$/i, "");
  }
  if (commands.some(isNothing) || !asksForSuccess(around)) return null;
  const isAlone = around.every((gap) => words(gap) === "");
  return isAlone || !commands.some((command) => isOther(command, around)) ? commands : null;
}

/** A file that is to be there; a shell reads its name as it stands. */
const PATH = /^(?=.*[./])(?!-)[\w./-]+$/;
const EXISTS = /^\s+(?:must |should )?(?:both |all )?exists?(?![\w-])/i;
const NO_ERRORS =
  /^\s+(?:has|have|reports?|gives?|shows?|finds?|with|passes with) no (?:errors|failures)(?![\w-])|^\s+without (?:any )?errors(?![\w-])/i;

/** A program that fails when it finds an error. Others may print it and succeed. */
function isChecker(command: string): boolean {
  return PLAIN_RUNNERS.has(command.trim().split(/\s+/)[0] ?? "") && !/[|;&]/.test(command);
}

/**
 * Not a command to be proven by its success: a thing that is spoken of, or a program whose success
 * says nothing.
 */
function isOther(command: string, around: readonly string[]): boolean {
  const one = command.trim();
  const says = (what: RegExp) => around.some((gap) => what.test(gap));
  // git exits with 0 whether a tree is clean or not.
  const isGit = /^git\b/.test(one) && !/\s--(?:exit-code|quiet)(?:\s|$)/.test(one);
  if (isGit && says(/\bclean\b/i)) return true;
  // A script is run where it is to pass; where it is to be clean, it is the text that is meant.
  if (SCRIPT.test(one) && says(/\b(?:clean|ok|builds?|compiles?)\b/i)) return true;
  const isInBackground = /(?:^|[^&])&$/.test(one);
  return THING.test(one) || IDLE.has(one) || isInBackground;
}

/** A call, a folder, a file that no shell runs: it has another ending, or none that a PATH finds. */
const THING =
  /^(?:[\w.]+\(.*\)|[\w./-]*\/|[\w-]+\.[a-z]{1,5}|(?!\.\/)[\w./-]+\.(?:md|txt|json|csv|html?|toml|ya?ml|css|log|png|jpe?g|svg|pdf|xml|rs|go|[cm]?[jt]sx?|c|h|cc|cpp|hpp|java|kt|cs|swift|sql|lock|cfg|ini|env)|(?:make|docker|gem|proc|rake|just)file)$/i;
const SCRIPT = /^[\w./-]*\/[\w.-]*$/;
/** Alone, they succeed on empty input, whatever is the case. */
const IDLE = new Set("sort cat uniq wc head tail tee rev tac tr cut cargo go echo".split(" "));

/*
 * The words that may stand around commands. There are more ways to mean the opposite ("finds
 * nothing", "unless …") than a list could name, so this one names what is understood.
 */
const ZERO = "(?:with )?(?:(?:exit )?(?:code|status) )?(?:0|zero)";
const STATE = "(?:green|clean|ok|passing)";
const PASSES = `(?:must |should )?(?:still |now )?(?:both |all )?(?:${[
  `pass(?:es)?(?: with (?:exit )?(?:code|status) (?:0|zero)| \\(exits? ${ZERO}\\))?`,
  "succeeds?",
  `(?:is|are|be|stays?) (?:still |now )?(?:both |all )?${STATE}`,
  STATE,
  "(?:runs?|builds?|compiles?|finishe?s?|ends?) (?:without (?:any )?errors?|cleanly|successfully)",
  `(?:exits?|returns?) (?:${ZERO}|cleanly|successfully)`,
  `(?:→|->|=>) (?:exits? )?${ZERO}`,
  `\\((?:all )?(?:${STATE}|pass(?:es)?|exits? ${ZERO})\\)`,
].join("|")})(?: too| as well)?`;
const AND = "(?:[,;.]|[,;.]? ?(?:and|then|and then|plus|&&))(?: run)?";
const NOUN =
  "(?:(?:unit |integration |new |existing )?tests|test suite|suite|build|lint|checks|ci)";
const SUBJECT = `(?:all (?:of )?)?(?:(?:the )?${NOUN}|this|these|the following)(?: commands?)?`;
const DOES = "(?:pass(?:es)?|succeeds?|(?:(?:is|are) )?green)";
const BEFORE = new RegExp(
  `^(?:(?:done |finished )?when ?)?(?:${SUBJECT} ${DOES} ?(?:[:(]|with|via)|(?:run(?:ning)? ?)?(?:both|all of|(?:the |this )?commands?)? ?:?)$`,
);
const BETWEEN = new RegExp(`^(?:[,:–—-]? ?${PASSES})? ?${AND}$|^$`);
const BEHIND = new RegExp(`^(?:[,:–—-]? ?${PASSES})? ?[.,;!]?$|^ ?too ?[.!]?$|^\\) ?[.!]?$`);
/** Longer than anything that is understood. */
const LONGEST = 200;

/** The first text stands before the first command, the last behind the last. */
function asksForSuccess(around: readonly string[]): boolean {
  const last = around.length - 1;
  const isOpen = words(around[0] ?? "").endsWith("(");
  if (isOpen !== words(around[last] ?? "").startsWith(")")) return false;
  return around.every((text, i) =>
    (i === 0 ? BEFORE : i === last ? BEHIND : BETWEEN).test(words(text)),
  );
}

/** Without emphasis, quotes and breaks. */
function words(text: string): string {
  const bare = text.trim();
  if (bare.length > LONGEST) return "?";
  return bare.replace(/[*_"]/g, "").replace(/\s+/g, " ").trim().toLowerCase();
}

function fromPlain(text: string): string[] | null {
  // Backticks without a partner; and nothing between two is a success for a shell.
  if (text.includes("`")) return null;
  const parts = text.split("\n").map(trim).filter(Boolean);
  // Two lines could be two commands; as one they would be something else.
  const isOne = parts.every(
    (line, i) => i === 0 || /^(?:&&|\|)/.test(line) || /(?:&&|\||\\)$/.test(parts[i - 1] ?? ""),
  );
  // Joined to one line, a comment would take the lines below it along.
  if (!isOne || (parts.length > 1 && parts.some((line) => /(?:^|\s)#/.test(line)))) return null;
  const whole = parts.map((line) => line.replace(/\\$/, "")).join(" ");
  const inner = /^(?:"([^"]*)"|'([^']*)')$/.exec(whole);
  const line = inner ? withoutComments(inner[1] ?? inner[2] ?? "").trim() : whole;
  if (looksLikeCommand(line)) return [line];
  return fromSentence(line);
}

/** `npm test passes`, `scraps/report.md exists`: short, and with nothing else in the line. */
function fromSentence(line: string): string[] | null {
  const [, path = ""] = /^(\S{1,200}) exists\.?$/i.exec(line) ?? [];
  const isPath = PATH.test(path) && /\/|\.[a-z]\w*$/i.test(path) && path.toLowerCase() !== "and/or";
  if (isPath) return [`test -e ${path}`];
  const [, command = ""] = PLAIN_PASSES.exec(line.slice(0, LONGEST)) ?? [];
  const [first = "", second, ...more] = command.split(" ");
  const isRunner = PLAIN_RUNNERS.has(first) && (second !== undefined || RUN_ALONE.has(first));
  const isScript = first.startsWith("./") || (first === "go" && second === "test");
  if (!(isRunner || isScript) || more.length > 1) return null;
  return RUN_ALONE.has(command) || looksLikeCommand(command) ? [command] : null;
}

const PLAIN_PASSES = new RegExp(`^((?:\\./)?[a-z][\\w:./ -]*?) ${PASSES} ?[.!]?$`);

const set = (list: string) => new Set(list.split(/\s+/));

/** A line that begins with one is a command without any other sign. */
const RUNNERS = set(`npm npx pnpm yarn bun deno node make just task rake cargo go pytest tox nox mvn
  gradle ctest ninja bazel dotnet mix rspec bundle phpunit composer jest vitest mocha tsc eslint
  biome prettier ruff mypy pyright uv poetry python python3 ruby swift zig sbt time true false viv`);

/** Of these, those that are no English words. */
const PLAIN_RUNNERS = set(`npm npx pnpm yarn cargo pytest tox nox mvn gradle ctest jest vitest mocha
  tsc eslint biome ruff mypy pyright phpunit rspec dotnet tsc flake8 pylint shellcheck`);

/** Of these, those that check something without an argument. */
const RUN_ALONE = set("pytest tox nox ctest jest vitest mocha tsc phpunit rspec");

/** Programs that a line may begin with. Any other word begins a sentence, until a shell's sign. */
const TOOLS =
  set(`test [ ! ( { grep egrep fgrep rg diff cmp git bash sh zsh dash env timeout nice cd
  ls cat wc head tail awk sed jq yq curl wget sqlite3 psql mysql redis-cli docker podman kubectl helm
  terraform cmake gcc g++ cc clang java javac php perl lua ghc stack cabal Rscript julia black isort
  flake8 pylint bandit shellcheck hadolint yamllint xmllint markdownlint stylelint golangci-lint
  clippy-driver ansible-lint sha256sum md5sum openssl stat readlink printenv command set
  echo printf export`);

/** They destroy. In a sentence they are more often forbidden than asked for, and none is a check. */
const DESTRUCTIVE = set(`rm rmdir mv dd kill pkill killall shred truncate sudo su doas mkfs shutdown
  reboot unlink wipefs format del`);

/** They begin sentences. */
const BEGINNINGS =
  set(`a i all no none nothing only this there see ask run running check verify open
  look add new one two code tests docs page pages file files result results output outputs function
  functions unit build done ok okay yes return exits n/a todo tbd`);

/** They stand in sentences. In a command they would be quoted. */
const ENGLISH =
  set(`the an every each some any both of to into from by not that these those than with
  without when while until if once should must can will does be been is are was were has have had and
  or exists exist pass passes passed work works contains prints returns compiles builds runs green
  fine correct happy succeed succeeds it its it's they we you he she our your my their because so
  also still everything somebody someone nobody successfully correctly properly never no nothing only
  fail fails failed failing red broken removed gone forbidden installed complete completed clear
  ist sind war wird werden muss soll darf nicht kein keine keinen nie niemals und oder ohne mit
  grün sauber fehlerfrei existiert liegt läuft laufen durch der das
  es está esta son nunca sin y o con pasa pasan existe existen debe deben limpio limpia
  verde prohibido el los las del
  est sont pas jamais sans et ou avec passe passent doit doivent propre vert le les`);

/** They succeed with any arguments, so a sentence that begins with one would prove nothing. */
const OBLIGING = set(`echo printf set unset export readonly local trap wait sync times users groups
  file who hash true : exit return break continue cd pwd type let declare shift umask date uname yes
  alias jobs`);

function looksLikeCommand(line: string): boolean {
  // A comment succeeds; a capital begins a sentence; no program's name begins with a letter like é.
  if (/^(?:$|#|\p{Lu}\p{Ll}|[^\0-\x7f])/u.test(line)) return false;
  // The end of a sentence, unless it is a folder (`ruff check .`, `go test ./...`).
  if (/[.!?:,…&]$/.test(line) && !/(?:^|\s)[./]{1,200}$/.test(line.slice(-201))) return false;
  const bare = masked(line).replace(/\0+/g, "\0");
  const tokens = bare.trim().split(/\s+/);
  const plain = tokens.map((token) =>
    token.length > 40 ? "" : token.toLowerCase().replace(/[,.:;!?]+$/, ""),
  );
  const first = plain[0] || (tokens[0] ?? "");
  if (BEGINNINGS.has(first)) return false;
  if (OBLIGING.has(first) && tokens.length > 1 && !/&&|\|\||;/.test(bare)) return false;
  const isTest = first === "test" || first === "[";
  if (isTest && !tokens.some((token) => /^(?:-[a-zA-Z]|!?=|==)/.test(token))) return false;
  // Words to search for are often English.
  if (!/^(?:[ef]?grep|rg)$/.test(first) && plain.some((token) => ENGLISH.has(token))) return false;
  if (tokens.some((token) => DESTRUCTIVE.has(token))) return false;
  // A word of another language; a path may have such letters.
  if (tokens.some((token) => /[^\0-\x7f]/.test(token) && !isShell(token))) return false;
  const isProgram = RUNNERS.has(first) || PLAIN_RUNNERS.has(first) || TOOLS.has(first);
  const beginsLikeOne = isProgram || /^[\w.~$-]*\/|=|^[($!]/.test(tokens[0] ?? "");
  if (!beginsLikeOne && !/&&|\|\||\|\s|\$[({]|2>&1/.test(bare)) return false;
  // "coverage > 80" compares; a shell would write a file called 80.
  if (/(?:^|\s)[<>]=?\s*\d+(?:\.\d+)?\s*%?(?:\s|$)/.test(bare.slice(0, 10_000))) return false;
  if (tokens.some(isShell)) return true;
  return RUNNERS.has(first) && tokens.length <= 3 && !/[^\0-\x7f]/.test(bare);
}

/** An option, a path, a file's name, or signs that only a shell needs. */
function isShell(token: string): boolean {
  return (
    /^--?[A-Za-z0-9]/.test(token) ||
    /^\.{1,2}$/.test(token) ||
    token.includes("/") ||
    /\w\.[A-Za-z]\w{0,4}$/.test(token.slice(-40)) ||
    /&&|[|;<>$*=\0]/.test(token)
  );
}

/** The lines without the comments behind them. */
function withoutComments(text: string): string {
  if (!text.includes("#")) return text;
  let from = 0;
  return masked(text)
    .split("\n")
    .map((line) => {
      const at = /(?:^|\s)#(?=\s|$)/.exec(line)?.index ?? line.length;
      const kept = text.slice(from, from + at);
      from += line.length + 1;
      return kept;
    })
    .join("\n");
}

/** As long as the text, with NUL for code spans and quotes: they are arguments, whatever they say. */
function masked(text: string): string {
  let bare = "";
  let at = 0;
  const skip = (end: number) => {
    bare += "\0".repeat(end - at);
    at = end;
  };
  const spans = spansOf(text);
  for (let i = 0; at < text.length; ) {
    const c = text.charAt(at);
    const span = spans[i];
    if (span !== undefined && at >= span.start) {
      if (at < span.end) skip(span.end);
      i++;
      continue;
    }
    // An apostrophe inside a word is English: don't.
    const isQuote = c === '"' || (c === "'" && !/\w/.test(text.charAt(at - 1)));
    const end = isQuote ? text.indexOf(c, at + 1) : -1;
    if (isQuote && end === -1) return bare + text.slice(at);
    if (isQuote) skip(end + 1);
    else {
      bare += c;
      at++;
    }
  }
  return bare;
}

interface Span {
  start: number;
  end: number;
  content: string;
}

/** Code spans as Markdown has them: a run of backticks up to the next run of the same length. */
function spansOf(text: string): Span[] {
  const runs = [...text.matchAll(/`+/g)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
  const next: (number | undefined)[] = [];
  const seen = new Map<number, number>();
  for (let i = runs.length - 1; i >= 0; i--) {
    const length = (runs[i]?.end ?? 0) - (runs[i]?.start ?? 0);
    next[i] = seen.get(length);
    seen.set(length, i);
  }
  const spans: Span[] = [];
  for (let i = 0; i < runs.length; i++) {
    const open = runs[i];
    const close = runs[next[i] ?? -1];
    if (open === undefined || close === undefined) continue;
    let content = text.slice(open.end, close.start);
    if (content.includes("\n")) content = content.split("\n").map(trim).join(" ");
    const isPadded = content.startsWith(" ") && content.endsWith(" ") && content.trim() !== "";
    if (isPadded) content = content.slice(1, -1);
    spans.push({ start: open.start, end: close.end, content });
    i = next[i] ?? i;
  }
  return spans;
}

/** A shell makes a success of it without doing anything. */
function isNothing(command: string): boolean {
  return command.split("\n").every((line) => /^(?:#|$)/.test(line.trim()));
}

/** In brackets where something in it would otherwise bind to its neighbours. */
function joined(commands: readonly string[]): string {
  if (commands.length === 1) return commands[0] ?? "";
  const bracketed = commands.map(trim).map((command) => {
    if (!/[;|&\n#]|^exit\b/.test(command)) return command;
    return /[\n#]/.test(command) ? `(${command}\n)` : `(${command})`;
  });
  return bracketed.join(" && ");
}

function trim(text: string): string {
  return text.trim();
}
