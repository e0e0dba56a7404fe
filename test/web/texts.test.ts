import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAnsi, stripAnsi } from "../../web/src/parts/ansi.ts";
import { type Block, parseMarkdown } from "../../web/src/parts/markdown.ts";
import { type Inline, safeHref } from "../../web/src/parts/markdown-inline.ts";
import { splitLines } from "../../web/src/parts/split-lines.ts";
import { LogLines } from "../../web/src/views/task/log-lines.ts";
import { parseDiff } from "../../web/src/views/task/parse-diff.ts";
import { holds } from "../support/property.ts";

/** Texts that programs wrote, on their way into the page. */

describe("Markdown", () => {
  const texts = (nodes: readonly Inline[]): string =>
    nodes
      .map((one) => ("children" in one ? texts(one.children) : "text" in one ? one.text : "⏎"))
      .join("");
  const childrenOf = (text: string): Inline[] => {
    const [block] = parseMarkdown(text);
    return block && "children" in block && block.kind !== "quote" ? block.children : [];
  };

  const hrefs = (text: string) =>
    childrenOf(text).flatMap((one) => (one.kind === "link" ? [one.href] : []));

  test("blocks: headings, lists, code, quotes, tables", () => {
    const text =
      "# One *two*\n\nA line\nand more\n\n- a\n- [x] b\n  - c\n\n1. x\n2. y\n\n> q\n\n```ts\n<b>\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n---\n";
    const blocks = parseMarkdown(text);
    const kinds = ["heading", "paragraph", "list", "list", "quote", "code", "table", "rule"];
    expect(blocks.map(({ kind }) => kind)).toEqual(kinds);
    const list = blocks[2] as Extract<Block, { kind: "list" }>;
    expect(list.items.map(({ checked }) => checked)).toEqual([null, true]);
    expect(list.items[1]?.children.map(({ kind }) => kind)).toEqual(["paragraph", "list"]);
    expect(blocks[5]).toEqual({ kind: "code", language: "ts", text: "<b>" });
  });

  test("a table's line of nothing but spaces is read once, not in each way to part it", () => {
    const spaces = " ".repeat(200_000);
    expect(parseMarkdown(`a|b\n${spaces}x`).map(({ kind }) => kind)).toEqual(["paragraph"]);
    expect(parseMarkdown(`a|b\n${spaces}-|-${spaces}`).map(({ kind }) => kind)).toEqual(["table"]);
  }, 15_000);

  test("HTML is text", () => {
    const [block] = parseMarkdown("<script>alert(1)</script> <img src=x onerror=alert(1)>");
    expect(block).toEqual({
      kind: "paragraph",
      children: [{ kind: "text", text: "<script>alert(1)</script> <img src=x onerror=alert(1)>" }],
    });
  });

  test("a link leads only to the web or mail, and an image is its words", () => {
    expect(hrefs("[a](https://a.example/x) <https://b.example> see https://c.example/d.")).toEqual([
      "https://a.example/x",
      "https://b.example",
      "https://c.example/d",
    ]);
    expect(
      hrefs("[a](javascript:alert(1)) [b](data:text/html,x) [c](/api/cancel) [d](//e.example)"),
    ).toEqual([null, null, null, null]);
    expect(
      ["java\nscript:x", " JAVASCRIPT:x", "vbscript:x", "file:///etc/passwd"].map(safeHref),
    ).toEqual([null, null, null, null]);
    const [image] = parseMarkdown("![a plot](https://a.example/pixel.png)");
    expect(texts((image as Extract<Block, { kind: "paragraph" }>).children)).toBe("image: a plot");
  });

  test("parentheses of an address are its own while they are balanced", () => {
    const wiki = "https://en.wikipedia.org/wiki/Foo_(bar)";
    expect(hrefs(`[paren link](${wiki}) and (see ${wiki}), (${wiki}) and ${wiki}.`)).toEqual(
      Array(4).fill(wiki),
    );
    expect(texts(childrenOf(`[paren link](${wiki}) end`))).toBe("paren link end");
    expect(hrefs("[a](https://a.example/?x=1&amp;y=2 'a title')")).toEqual([
      "https://a.example/?x=1&y=2",
    ]);
    expect(hrefs("[a](https://a.example/(b")).toEqual(["https://a.example/(b"]);
    expect(hrefs("[a](&#106;avascript:x) [b](java&nbsp;script:x)")).toEqual([null, null]);
  });

  test("a table has its alignments, and `\\|` is a sign of its cell", () => {
    const text = "| a | b \\| c | d | e |\n|:--|--:|:-:|---|\n| 1 | `x \\| y` | 3 | 4 \\|";
    const [table] = parseMarkdown(text) as Extract<Block, { kind: "table" }>[];
    expect(table?.align).toEqual(["left", "right", "center", ""]);
    expect(table?.head.map(texts)).toEqual(["a", "b | c", "d", "e"]);
    expect(table?.rows.map((row) => row.map(texts))).toEqual([["1", "x | y", "3", "4 |"]]);
  });

  test("underlined headings, indented code, hard breaks and entities", () => {
    const blocks = parseMarkdown(
      "One\nmore\n===\nTwo\n---\nText\n\n---\n\n    a <b>\n\n      c\n\nend",
    );
    expect(blocks.map((one) => (one.kind === "heading" ? one.level : one.kind))).toEqual([
      ...[1, 2, "paragraph", "rule", "code", "paragraph"],
    ]);
    expect(blocks[4]).toEqual({ kind: "code", language: "", text: "a <b>\n\n  c" });
    expect(texts(childrenOf("a\\\nb  \nc\nd\\"))).toBe("a⏎b⏎c\nd\\");
    expect(texts(childrenOf("a line\n    that goes on"))).toBe("a line\nthat goes on");
    expect(
      texts(childrenOf("&lt;b&gt; &amp;lt; &quot;&#39;&nbsp;| &copy; `&lt;` & &#x202e;")),
    ).toBe("<b> &lt; \"'\u00a0| &copy; &lt; & &#x202e;");
    const [list] = parseMarkdown("- a\n\n  b\n\n      code\n- c") as Extract<
      Block,
      { kind: "list" }
    >[];
    expect(list?.items.map(({ children }) => children.map(({ kind }) => kind))).toEqual([
      ["paragraph", "paragraph", "code"],
      ["paragraph"],
    ]);
  });

  test("lines may end as on Windows; other control characters are shown", () => {
    expect(texts(childrenOf("a\r\nb\rc\u202e"))).toBe("a\nb‹000D›c‹202E›");
  });

  test("the time grows with the text, whatever is repeated in it", () => {
    const parts = [
      "[a](",
      "[a](https://x.y/(",
      "https://x.y/)))",
      "&",
      "&amp",
      "a\n=",
      "    a\n\n",
      "a \\| b|",
      "  ",
    ];
    for (const part of parts) parseMarkdown(`a|b\n-|-\n\n${part.repeat(200_000 / part.length)}`);
    parseMarkdown(`[a](${"(".repeat(200_000)}`);
    parseMarkdown(`https://x.y/${")".repeat(200_000)}`);
  }, 15_000);

  test("snake_case is no emphasis, and an escape is its sign", () => {
    const [block] = parseMarkdown("a_b_c \\*d\\* **e** *f* `g*h`");
    const { children } = block as Extract<Block, { kind: "paragraph" }>;
    expect(children).toEqual([
      { kind: "text", text: "a_b_c *d* " },
      { kind: "strong", children: [{ kind: "text", text: "e" }] },
      { kind: "text", text: " " },
      { kind: "em", children: [{ kind: "text", text: "f" }] },
      { kind: "text", text: " " },
      { kind: "code", text: "g*h" },
    ]);
  });

  test("any text becomes a tree, and links in it are safe", () => {
    const signs = fc.constantFrom(
      "*",
      "_",
      "`",
      "[",
      "](",
      ")",
      "!",
      "<",
      ">",
      "\n",
      "- ",
      "1. ",
      "# ",
      "|",
      "a",
      " ",
      "https://x.y",
      "javascript:",
      "~~",
      "\\",
      "(",
      "=",
      "--",
      "    ",
      "&amp;",
      "&nbsp;",
    );
    holds(
      fc.property(fc.array(signs, { maxLength: 60 }), (parts) => {
        const seen = JSON.stringify(parseMarkdown(parts.join("")));
        for (const [, href = ""] of seen.matchAll(/"href":"(.*?)"/g))
          expect(href).toMatch(/^https?:/);
      }),
    );
  });
});

describe("terminals", () => {
  test("colours become classes, other sequences are left out", () => {
    const line =
      "\u001b]0;title\u0007a \u001b[31mred\u001b[0m \u001b[1;32mok\u001b[22;39m\u001b[2K\u001b[38;5;200mx\u001b[48;2;1;2;3my";
    expect(parseAnsi(line)).toEqual([
      { text: "a ", className: "" },
      { text: "red", className: "a-r" },
      { text: " ", className: "" },
      { text: "ok", className: "a-g a-bold" },
      { text: "x", className: "" },
      { text: "y", className: "" },
    ]);
  });

  test("a sequence that never ends hides nothing", () => {
    expect(stripAnsi(`\u001b]8;;${"x".repeat(20)}\nnext`)).toContain("next");
    expect(stripAnsi("\u001b]no end")).toBe("no end");
    expect(stripAnsi("end \u001b")).toBe("end ");
  });

  test("no escape survives, whatever a program writes", () => {
    const part = fc.constantFrom(
      "\u001b",
      "[",
      "]",
      "3",
      "1",
      ";",
      "m",
      "\u009b",
      "\u0007",
      "a",
      "\\",
      "P",
    );
    holds(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
        expect(stripAnsi(parts.join(""))).not.toMatch(/[\u0000-\u001f\u009b]/);
      }),
    );
  });

  test("a log without a newline is shown in pieces, and comes in pieces", () => {
    expect(splitLines("x".repeat(2_500)).map(({ length }) => length)).toEqual([1000, 1000, 500]);
    expect(splitLines("10%\r50%\r100%\nnext\r\n")).toEqual(["100%", "next"]);
    const log = new LogLines();
    for (const piece of ["a", "b\nc", "\n", "d"]) log.add(piece);
    expect(Array.from({ length: log.total }, (_, at) => log.at(at))).toEqual(["ab", "c", "d"]);
  });
});

test("a diff is files and lines with their numbers", () => {
  const text = [
    "diff --git a/a.ts b/a.ts",
    "index 1..2 100644",
    "--- a/a.ts",
    "+++ b/a.ts",
    "@@ -1,2 +1,2 @@ function x",
    " same",
    "-old",
    "+new",
    'diff --git a/it\'s "odd" b/it\'s "odd"',
    "new file mode 100644",
    "--- /dev/null",
    '+++ "b/it\'s \\"\\303\\266dd\\"\\n"',
    "@@ -0,0 +1 @@",
    "+++ a line of pluses",
    "\\ No newline at end of file",
  ].join("\n");
  const files = parseDiff(`${text}\n`);
  expect(files.map(({ path }) => path)).toEqual(["a.ts", 'it\'s "ödd"\n']);
  expect(files[0]?.lines).toEqual([
    { kind: "hunk", text: "@@ -1,2 +1,2 @@ function x", before: null, after: null },
    { kind: "same", text: "same", before: 1, after: 1 },
    { kind: "remove", text: "old", before: 2, after: null },
    { kind: "add", text: "new", before: null, after: 2 },
  ]);
  expect(files[1]?.lines.map(({ kind }) => kind)).toEqual(["note", "hunk", "add", "note"]);
});
