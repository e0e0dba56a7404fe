/**
 * Markdown into a small tree, for artifacts. Never HTML: what looks like it is text. Each character
 * is looked at a bounded number of times, whatever a program wrote.
 */
export type Inline =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "em" | "del"; children: Inline[] }
  | { kind: "link"; href: string | null; children: Inline[] };

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
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const DEEPEST = 8;

export function parseMarkdown(text: string): Block[] {
  return blocksOf(text.replaceAll("\r\n", "\n").split("\n"), 0);
}

function blocksOf(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0)
      blocks.push({ kind: "paragraph", children: parseInline(paragraph.join("\n")) });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const found = depth < DEEPEST && blockAt(lines, at, depth, paragraph.length > 0);
    if (found) {
      flush();
      blocks.push(found.block);
      at = found.next;
      continue;
    }
    if (line.trim() === "") flush();
    else paragraph.push(line.trim());
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

function fencedAt(lines: readonly string[], at: number, fence: string, language: string): Found {
  let end = at + 1;
  while (end < lines.length && !(lines[end] ?? "").trim().startsWith(fence)) end++;
  return {
    block: { kind: "code", language, text: lines.slice(at + 1, end).join("\n") },
    next: end + 1,
  };
}

function tableAt(lines: readonly string[], at: number): Found {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||\|$/g, "")
      .split("|")
      .map((cell) => parseInline(cell.trim()));
  const rows: Inline[][][] = [];
  let next = at + 2;
  while (next < lines.length && (lines[next] ?? "").includes("|"))
    rows.push(cells(lines[next++] ?? ""));
  return { block: { kind: "table", head: cells(lines[at] ?? ""), rows }, next };
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

/** Only where a browser goes without running anything. */
export function safeHref(href: string): string | null {
  const bare = href.trim();
  return /^(https?:\/\/|mailto:)[^\s<>"]+$/i.test(bare) ? bare : null;
}

const MARKS = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "del"],
  ["*", "em"],
  ["_", "em"],
] as const;

export function parseInline(text: string, depth = 0): Inline[] {
  const out: Inline[] = [];
  let plain = "";
  const flush = () => {
    if (plain !== "") out.push({ kind: "text", text: plain });
    plain = "";
  };
  for (let at = 0; at < text.length; ) {
    const found = depth < DEEPEST ? inlineAt(text, at, depth) : null;
    if (found === null) {
      const isEscape = text[at] === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "");
      plain += text[isEscape ? at + 1 : at];
      at += isEscape ? 2 : 1;
      continue;
    }
    flush();
    out.push(found.node);
    at = found.next;
  }
  flush();
  return out;
}

/** How far the end of something is looked for. */
const FAR = 1_000;

function inlineAt(text: string, at: number, depth: number): { node: Inline; next: number } | null {
  const c = text[at];
  if (c === "`") return codeAt(text, at);
  if (c === "[" || (c === "!" && text[at + 1] === "[")) return linkAt(text, at, depth);
  if (c === "h" || c === "<") return bareLinkAt(text, at);
  for (const [mark, kind] of MARKS) {
    if (!text.startsWith(mark, at)) continue;
    const next = text[at + mark.length];
    if (next === undefined || /\s/.test(next)) return null;
    // snake_case is no emphasis.
    if (mark[0] === "_" && /\w/.test(text[at - 1] ?? "")) return null;
    const end = text.slice(0, at + FAR).indexOf(mark, at + mark.length + 1);
    if (end === -1 || /\s/.test(text[end - 1] ?? "")) return null;
    if (mark[0] === "_" && /\w/.test(text[end + mark.length] ?? "")) return null;
    const children = parseInline(text.slice(at + mark.length, end), depth + 1);
    return { node: { kind, children }, next: end + mark.length };
  }
  return null;
}

function codeAt(text: string, at: number): { node: Inline; next: number } | null {
  let size = 1;
  while (text[at + size] === "`") size++;
  const fence = "`".repeat(size);
  const end = text.slice(0, at + FAR).indexOf(fence, at + size);
  if (end === -1) return null;
  return { node: { kind: "code", text: text.slice(at + size, end).trim() }, next: end + size };
}

/** `[words](address)`. An image is its words: nothing is loaded from elsewhere. */
function linkAt(text: string, at: number, depth: number): { node: Inline; next: number } | null {
  const open = text[at] === "!" ? at + 1 : at;
  const near = text.slice(0, open + FAR);
  const close = near.indexOf("](", open);
  const end = close === -1 ? -1 : near.indexOf(")", close);
  if (end === -1 || near.slice(open + 1, close).includes("\n\n")) return null;
  const href = safeHref(
    (
      near
        .slice(close + 2, end)
        .trim()
        .split(/\s/)[0] ?? ""
    ).replace(/^<|>$/g, ""),
  );
  const words = near.slice(open + 1, close);
  const label = text[at] === "!" ? `image: ${words || "without words"}` : words;
  return { node: { kind: "link", href, children: parseInline(label, depth + 1) }, next: end + 1 };
}

function bareLinkAt(text: string, at: number): { node: Inline; next: number } | null {
  if (at > 0 && /\w/.test(text[at - 1] ?? "")) return null;
  const match = /^<?(https?:\/\/[^\s<>"'`]+)>?/.exec(text.slice(at, at + 2_000));
  if (!match?.[1]) return null;
  const isBracketed = text[at] === "<";
  const href = isBracketed ? match[1] : match[1].replace(/[.,;:!?)\]]+$/, "");
  const next = isBracketed ? at + match[0].length : at + href.length;
  return {
    node: { kind: "link", href: safeHref(href), children: [{ kind: "text", text: href }] },
    next,
  };
}
