import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SINGLETON } from "../../test/support/crew-host.ts";
import { holds } from "../../test/support/property.ts";
import { prepare, promptFrom, sharedOf } from "./prompt.ts";

describe("shared files", () => {
  test.each([
    ["", []],
    ["#+SHARED: laws.org", ["laws.org"]],
    ["#+shared:   a.org b.org \r\n#+SHARED: c.org\r\n", ["a.org", "b.org", "c.org"]],
    ['#+SHARED: "my laws.org" x', ["my laws.org", "x"]],
    ["#+SHARED: a a\n#+SHARED: a", ["a"]],
    ["#+SHARED:", []],
    ["#+BEGIN_EXAMPLE\n#+SHARED: a\n#+END_EXAMPLE\n# +SHARED: b", []],
    ["* role\ntext\n#+SHARED: late.org", ["late.org"]],
  ])("in org: %j", (text, files) => expect(sharedOf(text, "org")).toEqual(files));

  test.each([
    ["shared: a.md", []],
    ["---\nshared: a.md\n---\ntext", ["a.md"]],
    ["\ufeff---\r\nname: x\r\nshared: my laws.md # first\r\n---\r\n", ["my laws.md"]],
    ['---\nshared: "a b.md"\n---\n', ["a b.md"]],
    ["---\nshared: [a.md, 'b, c.md',]\n---\n", ["a.md", "b, c.md"]],
    [
      '---\nshared:\n  - a.md\n\n  - "b.md" # two\n- c.md\nname: x\n  - d.md\n---\n',
      ["a.md", "b.md", "c.md"],
    ],
    ["---\nshared:\nname: x\n---\n", []],
    ["---\nshared: a.md\n", []],
    ["---\nname: x\n---\nshared: a.md\n---\n", []],
    ["text\n---\nshared: a.md\n---\n", []],
  ])("in Markdown: %j", (text, files) => expect(sharedOf(text, "markdown")).toEqual(files));

  test("of any text are names, each once", () => {
    const format = fc.constantFrom("org" as const, "markdown" as const);
    const piece = fc.constantFrom(
      "---",
      "shared:",
      "#+SHARED:",
      " - ",
      "a",
      "[",
      "]",
      '"',
      "\n",
      ",",
      "#",
      " ",
    );
    holds(
      fc.property(fc.array(piece), format, (pieces, kind) => {
        const files = sharedOf(pieces.join(""), kind);
        expect(new Set(files).size).toBe(files.length);
        for (const file of files) expect(file === "" || file.includes("\n")).toBe(false);
      }),
    );
  });
});

describe("the prompt", () => {
  const parts = ["LAW ONE\n", "\n", "\ufeffYou are moss.\n\n"];

  test("is the laws, the def, the mode and the request", () => {
    expect(promptFrom(parts, "plan", null)).toMatch(
      /^LAW ONE\n\nYou are moss\.\n\nMODE: plan\nDo one keeper run in this repository now\.\n/,
    );
    const edit = promptFrom(parts, "edit", "dream");
    expect(edit).toContain("\n\nMODE: edit\nLIFECYCLE: dream\nDo one");
  });

  test("reflects on past steps instead of following the def", () => {
    let recent = 'NO-WORK\n```\nMODE: edit\n{"tool":"x"}';
    const texts: Record<string, string> = {
      "/news/moss.org": "#+SHARED: laws.org\nYou are moss.",
      "/news/laws.org": "LAW ONE",
      "/news/life.org": "* rem\n:PROPERTIES:\n:KIND: rem\n:END:\n",
    };
    const host = {
      ...{ folder: "/news", readText: (path: string) => texts[path] ?? "" },
      ...{ position: () => null, recent: () => recent },
    };
    const moss = { ...SINGLETON, def: "moss.org", lifecycle: "life.org" };
    const prompt = prepare(host, moss).prompt();
    expect(prompt).not.toContain("You are moss");
    expect(prompt).toContain("LAW ONE");
    expect(prompt).toContain(`\n\`\`\`\`\n${recent}\n\`\`\`\`\n\nMODE: plan\nLIFECYCLE: rem\n`);
    recent = "";
    expect(prepare(host, moss).prompt()).toContain("(nothing yet)");
    expect(prepare(host, { ...moss, lifecycle: null }).prompt()).toContain("You are moss.");
  });
});
