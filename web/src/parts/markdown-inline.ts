export type Inline =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "em" | "del"; children: Inline[] }
  | { kind: "link"; href: string | null; children: Inline[] }
  | { kind: "break" };

export const DEEPEST = 8;

/** Only these: no sign that is hidden, or has a meaning here, comes from an entity. */
const ENTITIES: Record<string, string> = {
  ...{ "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#39;": "'", "&nbsp;": "\u00a0" },
};
const decoded = (text: string) => text.replace(/&[#\w]{2,4};/g, (one) => ENTITIES[one] ?? one);

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
  if (c === "\\" && text[at + 1] === "\n") return { node: { kind: "break" }, next: at + 2 };
  if (text.startsWith("  \n", at)) return { node: { kind: "break" }, next: at + 3 };
  if (c === "&") {
    const end = text.slice(0, at + 6).indexOf(";", at) + 1;
    const sign = ENTITIES[text.slice(at, end)];
    return sign === undefined ? null : { node: { kind: "text", text: sign }, next: end };
  }
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
  if (close === -1 || near.slice(open + 1, close).includes("\n\n")) return null;
  let end = close + 2;
  for (let depth = 1; end < near.length; end++) {
    if (near[end] === "(") depth++;
    if (near[end] === ")" && --depth === 0) break;
  }
  if (end >= near.length) return null;
  const [target = ""] = near
    .slice(close + 2, end)
    .trim()
    .split(/\s/);
  const href = safeHref(decoded(target.replace(/^<|>$/g, "")));
  const words = near.slice(open + 1, close);
  const label = text[at] === "!" ? `image: ${words || "without words"}` : words;
  return { node: { kind: "link", href, children: parseInline(label, depth + 1) }, next: end + 1 };
}

function bareLinkAt(text: string, at: number): { node: Inline; next: number } | null {
  if (at > 0 && /\w/.test(text[at - 1] ?? "")) return null;
  const match = /^<?(https?:\/\/[^\s<>"'`]+)>?/.exec(text.slice(at, at + 2_000));
  if (!match?.[1]) return null;
  const isBracketed = text[at] === "<";
  const href = isBracketed ? match[1] : withoutEnd(match[1]);
  const next = at + (isBracketed ? match[0].length : href.length);
  return {
    node: { kind: "link", href: safeHref(href), children: [{ kind: "text", text: href }] },
    next,
  };
}

/** Signs behind an address are the sentence's; a parenthesis that it opens itself is its own. */
function withoutEnd(href: string): string {
  let spare = href.split(")").length - href.split("(").length;
  let end = href.length;
  while (/[.,;:!?\]]/.test(href[end - 1] ?? "") || (href[end - 1] === ")" && spare-- > 0)) end--;
  return href.slice(0, end);
}
