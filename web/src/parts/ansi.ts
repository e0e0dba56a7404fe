import { plain } from "./plain.ts";

/** A piece of a line with one look; classes are in lines.css. */
export interface Styled {
  text: string;
  className: string;
}

const COLOURS = ["3", "r", "g", "y", "b", "m", "k", "1"];

/**
 * Colours and weights of a terminal's line; every other sequence (cursor, title, links, modes) is
 * left out. Each line begins plain.
 */
export function parseAnsi(line: string): Styled[] {
  if (!line.includes("\u001b") && !line.includes("\u009b")) {
    return line === "" ? [] : [{ text: plain(line), className: "" }];
  }
  const pieces: Styled[] = [];
  const look = { colour: "", bold: false, dim: false, line: false };
  let from = 0;
  const flush = (to: number) => {
    if (to <= from) return;
    const names = [
      look.colour && `a-${look.colour}`,
      look.bold && "a-bold",
      look.dim && "a-dim",
      look.line && "a-line",
    ];
    pieces.push({ text: plain(line.slice(from, to)), className: names.filter(Boolean).join(" ") });
  };
  for (let at = 0; at < line.length; ) {
    const end = sequenceEnd(line, at);
    if (end === at) {
      at++;
      continue;
    }
    flush(at);
    const body = line.slice(at, end);
    if (body.endsWith("m") && (body[1] === "[" || body[0] === "\u009b")) restyle(look, body);
    at = end;
    from = end;
  }
  flush(line.length);
  return pieces;
}

/** Without any sequence: for copying. */
export function stripAnsi(text: string): string {
  return text
    .split("\n")
    .map((line) =>
      parseAnsi(line)
        .map(({ text }) => text)
        .join(""),
    )
    .join("\n");
}

/** Where the escape sequence that begins at `at` ends; `at` if there is none. */
function sequenceEnd(line: string, at: number): number {
  const c = line[at];
  if (c === "\u009b") return csiEnd(line, at + 1);
  if (c !== "\u001b") return at;
  const kind = line[at + 1];
  if (kind === "[") return csiEnd(line, at + 2);
  if (kind === undefined) return at + 1;
  if (!"]PX^_".includes(kind)) return at + 2;
  // A string: up to BEL or ST. One that never ends is only its two characters.
  for (let end = at + 2; end < line.length && end < at + 4096; end++) {
    if (line[end] === "\u0007") return end + 1;
    if (line[end] === "\u001b" && line[end + 1] === "\\") return end + 2;
  }
  return at + 2;
}

function csiEnd(line: string, from: number): number {
  let end = from;
  while (end < line.length && end < from + 64) {
    const code = line.charCodeAt(end++);
    if (code >= 0x40 && code <= 0x7e) return end;
    if (code < 0x20 || code > 0x7e) return end - 1;
  }
  return end;
}

function restyle(
  look: { colour: string; bold: boolean; dim: boolean; line: boolean },
  body: string,
): void {
  const codes = (body.match(/[\d;]+/)?.[0] ?? "0").split(";").map(Number);
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) Object.assign(look, { colour: "", bold: false, dim: false, line: false });
    else if (code === 1) look.bold = true;
    else if (code === 2) look.dim = true;
    else if (code === 4) look.line = true;
    else if (code === 22) look.bold = look.dim = false;
    else if (code === 24) look.line = false;
    else if (code === 39) look.colour = "";
    else if (code >= 30 && code <= 37) look.colour = COLOURS[code - 30] ?? "";
    else if (code >= 90 && code <= 97) look.colour = COLOURS[code - 90] ?? "";
    else if (code === 38 || code === 48) i += codes[i + 1] === 2 ? 4 : 2; // exact colours have no pair
  }
}
