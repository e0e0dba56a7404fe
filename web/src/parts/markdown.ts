import { DEEPEST, type Inline, parseInline } from "./markdown-inline.ts";
import { plain } from "./plain.ts";

/**
 * Markdown into a small tree, for artifacts. Never HTML: what looks like it is text. Each character
 * is looked at a bounded number of times, whatever a program wrote.
 */
export type Block =
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; children: Block[] }
  | {
      kind: "list";
      isOrdered: boolean;
      start: number;
      items: { checked: boolean | null; children: Block[] }[];
    }
  | {
      kind: "table";
      head: Inline[][];
      rows: Inline[][][];
      align: ("" | "left" | "right" | "center")[];
    }
  | { kind: "rule" };

export function parseMarkdown(text: string): Block[] {
  return blocksOf(plain(text.replaceAll("\r\n", "\n")).split("\n"), 0);
}

function blocksOf(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const flush = (level?: number) => {
    if (paragraph.length > 0) {
      const children = parseInline(paragraph.join("\n").trimEnd());
      blocks.push(level ? { kind: "heading", level, children } : { kind: "paragraph", children });
    }
    paragraph = [];
  };
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const underline = paragraph.length > 0 && /^ {0,3}(=+|--+) *$/.exec(line);
    if (underline) {
      flush(underline[1]?.startsWith("=") ? 1 : 2);
      at++;
      continue;
    }
    const found = depth < DEEPEST && blockAt(lines, at, depth, paragraph.length > 0);
    if (found) {
      flush();
      blocks.push(found.block);
      at = found.next;
      continue;
    }
    if (line.trim() === "") flush();
    else paragraph.push(line.trim() + (line.endsWith("  ") ? "  " : ""));
    at++;
  }
  flush();
  return blocks;
}

interface Found {
  block: Block;
  next: number;
}

function blockAt(
  lines: readonly string[],
  at: number,
  depth: number,
  inParagraph: boolean,
): Found | null {
  const line = lines[at] ?? "";
  if (!inParagraph && isIndented(line)) return indentedAt(lines, at);
  const fence = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/.exec(line);
  if (fence?.[1]) return fencedAt(lines, at, fence[1], fence[2] ?? "");
  const heading = /^ {0,3}(#{1,6})\s+(.*)$/.exec(line);
  if (heading?.[1]) {
    const text = (heading[2] ?? "").replace(/\s#+\s*$/, "");
    return {
      block: { kind: "heading", level: heading[1].length, children: parseInline(text) },
      next: at + 1,
    };
  }
  if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) return { block: { kind: "rule" }, next: at + 1 };
  if (/^ {0,3}>/.test(line)) {
    let next = at;
    while (next < lines.length && /^ {0,3}>/.test(lines[next] ?? "")) next++;
    const inner = lines.slice(at, next).map((one) => one.replace(/^ {0,3}> ?/, ""));
    return { block: { kind: "quote", children: blocksOf(inner, depth + 1) }, next };
  }
  // Trimmed: two patterns for the same spaces would be tried in each way to part them.
  if (line.includes("|") && /^\|?(\s*:?-+:?\s*\|)+\s*(:?-+:?)?$/.test((lines[at + 1] ?? "").trim()))
    return tableAt(lines, at);
  const item = itemOf(line);
  if (item && !(inParagraph && item.isOrdered && item.number !== 1))
    return listAt(lines, at, depth, item.isOrdered);
  return null;
}

const isIndented = (line: string) => line.startsWith("    ") && line.trim() !== "";

function indentedAt(lines: readonly string[], at: number): Found {
  let end = at;
  for (let next = at; next < lines.length; next++) {
    const line = lines[next] ?? "";
    if (isIndented(line)) end = next + 1;
    else if (line.trim() !== "") break;
  }
  const text = lines.slice(at, end).map((line) => line.slice(4));
  return { block: { kind: "code", language: "", text: text.join("\n") }, next: end };
}

function fencedAt(lines: readonly string[], at: number, fence: string, language: string): Found {
  let end = at + 1;
  while (end < lines.length && !(lines[end] ?? "").trim().startsWith(fence)) end++;
  return {
    block: { kind: "code", language, text: lines.slice(at + 1, end).join("\n") },
    next: end + 1,
  };
}

function tableAt(lines: readonly string[], at: number): Found {
  const split = (line = "") =>
    line
      .trim()
      .replace(/^\||(?<!\\)\|$/g, "")
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll("\\|", "|"));
  const cells = (line?: string) => split(line).map((cell) => parseInline(cell));
  const align = split(lines[at + 1]).map((cell) => {
    const isLeft = cell.startsWith(":");
    if (cell.endsWith(":")) return isLeft ? "center" : "right";
    return isLeft ? "left" : "";
  });
  const rows: Inline[][][] = [];
  let next = at + 2;
  while (next < lines.length && (lines[next] ?? "").includes("|")) rows.push(cells(lines[next++]));
  return { block: { kind: "table", head: cells(lines[at]), rows, align }, next };
}

function itemOf(line: string) {
  const match = /^( {0,12})([-*+]|(\d{1,9})[.)])( +|$)/.exec(line);
  if (!match) return null;
  const [all, indent = "", , number] = match;
  return {
    indent: indent.length,
    width: all.length,
    isOrdered: number !== undefined,
    number: Number(number ?? 1),
  };
}

function listAt(lines: readonly string[], at: number, depth: number, isOrdered: boolean): Found {
  const items: { checked: boolean | null; children: Block[] }[] = [];
  const outer = itemOf(lines[at] ?? "");
  const start = outer?.number ?? 1;
  const indent = outer?.indent ?? 0;
  let next = at;
  while (next < lines.length) {
    const item = itemOf(lines[next] ?? "");
    if (
      item === null ||
      item.indent > indent + 1 ||
      item.indent < indent ||
      item.isOrdered !== isOrdered
    )
      break;
    const inner = [(lines[next] ?? "").slice(item.width)];
    for (next++; next < lines.length; next++) {
      const line = lines[next] ?? "";
      const isBlank = line.trim() === "";
      const isInside = /^ */.exec(line)?.[0].length ?? 0;
      if (isBlank ? !/^ {2,}\S/.test(lines[next + 1] ?? "") : isInside < 2 + indent) break;
      inner.push(line.slice(Math.min(isInside, item.width)));
    }
    const box = /^\[([ xX])\] +/.exec(inner[0] ?? "");
    if (box) inner[0] = (inner[0] ?? "").slice(box[0].length);
    items.push({ checked: box ? box[1] !== " " : null, children: blocksOf(inner, depth + 1) });
    while (
      next < lines.length &&
      (lines[next] ?? "").trim() === "" &&
      itemOf(lines[next + 1] ?? "")
    )
      next++;
  }
  return { block: { kind: "list", isOrdered, start, items }, next: Math.max(next, at + 1) };
}
