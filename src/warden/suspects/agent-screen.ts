/**
 * Finds a program's input on its screen. A known agent's input box is recognised by its frame and its
 * content. An input that is not recognised is not typed to. Screens of the real programs are recorded
 * in test/warden/screens/.
 */

export const AGENTS = ["claude", "codex", "gemini", "opencode"] as const;
export type Agent = (typeof AGENTS)[number];

export interface Screen {
  /** The visible rows with their colours (`capture-pane -e`). */
  rows: readonly string[];
  cursor: { x: number; y: number; isVisible: boolean };
}

export type Input =
  /** An agent's input box: the typed text, and its first row. */
  | { is: "box"; text: string; top: number }
  /** A program that reads lines: the text left of the cursor. */
  | { is: "line"; before: string }
  /** It waits for a person: in words, after "it". */
  | { is: "person"; what: string }
  | { is: "none" };

export interface AgentLook {
  input: Input;
  /** Its turn goes on: a question that is submitted now is answered after it. */
  isBusy: boolean;
}

export function agentNamed(argv: readonly string[]): Agent | null {
  const [first = "", second = ""] = argv;
  const name = baseName(first);
  if (isAgent(name)) return name;
  if (!/^(node|nodejs|bun|deno)$/.test(name)) return null;
  const script = argv.slice(1).find((word) => !word.startsWith("-")) ?? second;
  const own = baseName(script).replace(/\.[cm]?js$/, "");
  if (isAgent(own)) return own;
  const packaged =
    /\/(?:@anthropic-ai\/(claude)-code|@openai\/(codex)|@google\/(gemini)-cli|(opencode)-ai)\//;
  return packaged.exec(script)?.slice(1).find(isAgent) ?? null;
}

const isAgent = (name: string): name is Agent => (AGENTS as readonly string[]).includes(name);
const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

export function agentLook(agent: Agent, screen: Screen): AgentLook {
  const rows = screen.rows.map(readRow);
  const texts = rows.map(({ text }) => text);
  const box = BOXES[agent](rows, screen.cursor);
  const what = box === null ? personIn(texts) : null;
  if (what !== null) return { input: { is: "person", what }, isBusy: false };
  const isBusy = lastRows(texts).some((row) => BUSY.test(row));
  if (box === null) return { input: { is: "none" }, isBusy };
  const text = PLACEHOLDERS.test(box.text.replace(/\s+/g, " ").trim()) ? "" : box.text;
  return { input: { is: "box", text, top: box.top }, isBusy };
}

const BUSY =
  /\besc(?:ape)?(?: to)? interrupt\b|\besc to(?:…|$)|\(esc to cancel|^\W*Shell awaiting input\b|⬝{4,}|^[\s┃]*QUEUED$|^[✻✶✳✢✽·*] \p{L}+…/iu;

/** A program that is no known agent, in a terminal that takes whole lines. */
export function lineLook(screen: Screen): Input {
  const texts = screen.rows.map((row) => readRow(row).text);
  const { x, y } = screen.cursor;
  const before = (texts[y] ?? "").slice(0, x);
  const asks = questionAt(before, texts.slice(0, y));
  return asks === null ? { is: "line", before } : { is: "person", what: asks };
}

/** Nothing is typed yet: an empty row, or a prompt. */
export function isBarePrompt(before: string): boolean {
  return /^\W*$/.test(before) || /^[\w .@~:/()[\]{}=+,-]{0,80}[>»›❯$%#]\s*$/.test(before);
}

/** The rows of a known agent that are its own words: not its box, footer, status or the user's. */
export function ownRows(agent: Agent, rows: readonly string[], top: number | null): string[] {
  const end = top === null ? rows.length : top;
  // The echo of a question stays: later it is recognised by its words.
  const isOthers = (row: string) => USERS[agent].test(row) && !/health check/i.test(row);
  const isSpoken = (row: string) =>
    /\bALIVE\b/i.test(row) || (/^[●⏺•✦]/u.test(row) && !BUSY.test(row));
  return rows.slice(0, end).filter((row) => isSpoken(row) || (!isStatus(row) && !isOthers(row)));
}

/** A row of a model's words: with its bullet, or indented below one. */
export const SPEAKS: Record<Agent, RegExp> = {
  claude: /^[●⏺]|^ {2,4}\p{L}/u,
  codex: /^•|^ {2,4}\p{L}/u,
  gemini: /^✦|^ {2,4}\p{L}/u,
  opencode: /^ {5}\S/u,
};

const USERS: Record<Agent, RegExp> = {
  claude: /^❯/u,
  codex: /^›/u,
  gemini: /^ ?[>*!] /u,
  opencode: /^\s*[┃╹]|^\s*▣/u,
};

/** A row that changes by itself: a spinner with its word, a tip, a hint at keys. */
function isStatus(row: string): boolean {
  return (
    /^\W*\p{L}+(?:…|\.\.\.)/u.test(row) ||
    /\b(?:esc|ctrl|shift|tab|alt|f\d+)\b.*\b(?:to|for|interrupt|commands|agents)\b/i.test(row) ||
    /^\W*tip\b|\? for shortcuts|\bpress (?:up|↑)|^\W*queued\b|messages to be submitted/i.test(
      row,
    ) ||
    /^\W*(?:worked|crunched|\p{L}+ed) for\b/iu.test(row)
  );
}

interface Row {
  text: string;
  /** Without dim text: a placeholder is dim, typed text is not. */
  typed: string;
}

type Box = { text: string; top: number };

/** The input box around the cursor, or null. A menu, or a mode with its own commands, is none. */
const BOXES: Record<Agent, (rows: readonly Row[], cursor: Screen["cursor"]) => Box | null> = {
  // A rule above and below; the first row begins with its glyph.
  claude: (rows, { y }) => {
    const isRule = (row: Row | undefined) => /^[─━]{10,}/u.test(row?.text ?? "");
    const top = rows.findLastIndex((row, at) => at < y && isRule(row));
    const bottom = rows.findIndex((row, at) => at > y && isRule(row));
    if (top < 0 || bottom < 0 || bottom - top > 15) return null;
    return boxFrom(rows, top + 1, bottom, /^❯[\s\u00a0]?/u);
  },
  // The glyph at the left edge, then an empty row; below it only its footer.
  codex: (rows, { y, isVisible }) => {
    const top = rows.findLastIndex(({ text }, at) => at <= y && /^›/u.test(text));
    if (!isVisible || top < 0 || y - top > 15) return null;
    const after = rows.slice(y).findIndex(({ text }) => text.trim() === "");
    // Its forms have the same glyph; only below its box stand the model and the folder.
    const footer = rows.slice(y + 1).map(({ text }) => text);
    if (!footer.some((row) => / · /u.test(row)) || footer.some((row) => FORM.test(row)))
      return null;
    return boxFrom(rows, top, after < 0 ? y + 1 : y + after, /^›\s?/u);
  },
  // In a panel below a rule, with a row for its mode.
  gemini: (rows, { y }) => {
    const top = rows.findLastIndex(({ text }, at) => at <= y && /^\s[>*]\s/u.test(text));
    const rule = rows.findLastIndex(({ text }) => /^[─▀╭]{10,}/u.test(text));
    if (top < 0 || y - top > 15 || rule < 0 || rule > top || top - rule > 5) return null;
    const after = rows.slice(y).findIndex(({ text }) => /^[\s▄▀─]*$/u.test(text));
    return boxFrom(rows, top, after < 0 ? y + 1 : y + after, /^\s[>*]\s{0,3}/u);
  },
  // A bar at the left that ends in a corner; the row above the corner names its mode.
  opencode: (rows, { x, y, isVisible }) => {
    const column = (rows[y]?.text ?? "").lastIndexOf("┃", x);
    if (!isVisible || column < 0) return null;
    const isBar = (row: Row | undefined) => row?.text[column] === "┃";
    const end = rows.findIndex((row, at) => at > y && !isBar(row));
    if (end < 0 || rows[end]?.text[column] !== "╹") return null;
    // The row above the corner names the agent and the model, or its shell mode.
    if (!/^\s*\S+ · \S/u.test((rows[end - 1]?.text ?? "").slice(column + 1))) return null;
    const top = rows.findLastIndex((row, at) => at < y && !isBar(row)) + 1;
    const inside = rows.slice(0, end - 1).map(({ text, typed }) => ({
      text: text.slice(column + 1),
      typed: typed.slice(column + 1),
    }));
    return boxFrom(inside, top, end - 1, /^/u);
  },
};

const FORM = /\benter (?:to )?(?:submit|confirm)|\besc (?:to )?(?:go )?back|reverse-i-search/i;

/** Null when its first row does not begin with the glyph, or is a list's: `❯ 1. Yes`. */
function boxFrom(rows: readonly Row[], top: number, end: number, glyph: RegExp): Box | null {
  const inside = rows.slice(top, end);
  const [first, ...rest] = inside;
  if (first === undefined || !glyph.test(first.text)) return null;
  if (/^\s*\d+[.)]\s/.test(first.text.replace(glyph, ""))) return null;
  const lines = [first.typed.replace(glyph, ""), ...rest.map(({ typed }) => typed)];
  return { text: lines.join("\n").trim(), top };
}

const PLACEHOLDERS =
  /^(?:Type your message or @path\/to\/file|Ask anything\b.*|Try "[^"]*"|Ask Codex .*)$/su;

/** Rows at the bottom that have text. */
function lastRows(texts: readonly string[], most = 25): string[] {
  return texts.filter((row) => row.trim() !== "").slice(-most);
}

const CHOSEN = /^[\s│┃║|]*[❯›●▶→>*]\s*\d+[.)]\s/u;
const CHOICE =
  /\b(?:allow once|allow always|permission required|press enter to|enter to (?:confirm|select|continue)|enter (?:confirm|submit)|esc to (?:cancel|exit|go back)|↑↓|use arrow keys|\(y\/n\)|\[y\/n\])/i;
const ASKS = /\?\s*[│┃║|]?\s*$/u;

/** The question of an agent without an input box to its person, or null. */
function personIn(texts: readonly string[]): string | null {
  const rows = lastRows(texts);
  const at = rows.findLastIndex((row) => CHOSEN.test(row) || CHOICE.test(row));
  if (at < 0) return null;
  const about = rows.slice(0, at + 1).findLast((row) => ASKS.test(row) || /permission/i.test(row));
  return worded(about ?? rows[at] ?? "", rows.join("\n"));
}

const YES_NO = /[[(][yYnN](?:es)?\s*[/|,]\s*[a-zA-Z/,|? ]+[\])]|\byes\/no\b/;
const SECRET = /\b(?:password|passphrase|passcode|\bpin|token|secret|api key)\b[^\n]{0,40}:\s*$/i;

/** The question to a person on the line before the cursor, or null. */
function questionAt(before: string, above: readonly string[]): string | null {
  if (SECRET.test(before)) return `asks for a password: ${clean(before)}`;
  const isPager = /^(?:--More--|\(END\)|:|lines \d+-\d+)/i.test(before.trim());
  if (isPager) return "shows a page, and waits for a key";
  if (YES_NO.test(before) || /\?\s*$/.test(before)) return worded(before, before);
  if (/[:\])]\s*$/.test(before)) return `waits for what a person types: ${clean(before)}`;
  // A question may stand on the row above an empty one, or above a bare prompt.
  const rows = above.filter((row) => row.trim() !== "").slice(-10);
  const last = rows.at(-1) ?? "";
  const isAsking =
    YES_NO.test(last) || /\?\s*$|\byes or no\b|press (?:enter|any key|return)/i.test(last);
  const isList =
    rows.some((row) => /^\s*1[.)]\s/.test(row)) && rows.some((row) => /^\s*2[.)]\s/.test(row));
  const isChoosing = isList && /\b(?:choice|choose|select|pick|number|option|enter)\b/i.test(last);
  return isBarePrompt(before) && (isAsking || isChoosing || /\?.*\benter\b/i.test(last))
    ? worded(last, last)
    : null;
}

function worded(line: string, context: string): string {
  const what = clean(line);
  if (/trust/i.test(line)) return `asks whether to trust a folder: ${what}`;
  const isPermission = /allow|permission|proceed|approve|run the following|make this edit|apply/i;
  const verb = isPermission.test(context) ? "asks for permission" : "waits for a choice";
  return `${verb}: ${what}`;
}

const clean = (line: string) =>
  line
    .replace(/[\p{Cc}│┃║|╭╮╰╯─]+/gu, " ")
    .trim()
    .slice(0, 200);

/** Colours; links and titles; else a character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what this reads
const SEQUENCE = /\x1b\[([\d;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|([^\x1b])/gu;

/** A row of `capture-pane -e`. */
export function readRow(row: string): Row {
  let text = "";
  let typed = "";
  let isDim = false;
  let isInverse = false;
  let cursorAt: number | null = null;
  for (const [, codes, char] of row.matchAll(SEQUENCE)) {
    if (char !== undefined) {
      if (isInverse) cursorAt = typed.length;
      text += char;
      typed += isDim ? " ".repeat(char.length) : char;
      continue;
    }
    if (codes === undefined) continue;
    for (const code of attributes(codes)) {
      if (code === 0 || code === 22) isDim = false;
      if (code === 0 || code === 27) isInverse = false;
      if (code === 2) isDim = true;
      if (code === 7) isInverse = true;
    }
  }
  // A drawn cursor may stand on the first letter of a placeholder.
  if (
    cursorAt !== null &&
    text.slice(cursorAt + 1).trim() !== "" &&
    typed.slice(cursorAt + 1).trim() === ""
  ) {
    typed = `${typed.slice(0, cursorAt)} ${typed.slice(cursorAt + 1)}`;
  }
  return { text: text.trimEnd(), typed: typed.trimEnd() };
}

/** Without the numbers that belong to a colour: `38;5;2` is no dim. */
function attributes(codes: string): number[] {
  const numbers = codes === "" ? [0] : codes.split(/[;:]/).map(Number);
  const found: number[] = [];
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] as number;
    if (code === 38 || code === 48 || code === 58) at += numbers[at + 1] === 2 ? 4 : 2;
    else found.push(code);
  }
  return found;
}
