import { describe, expect, test } from "vitest";
import { propertyOf, scanOrg, statesOf } from "./org.ts";

const BOARD = `#+TITLE: the board
#+TODO: ASSIGNED RESEARCH(r!) | PUBLISHED KILLED
* stories
** ASSIGNED [#A] hello world — one story   :red:big_one:
SCHEDULED: <2026-11-15 Sun>
:PROPERTIES:
:CUSTOM_ID: hello
:agent:     moss
:END:
:LOGBOOK:
- opened
:END:
Words.
** PUBLISHED done
`;

describe("a board", () => {
  const org = scanOrg(BOARD);

  test("has headings with their parts", () => {
    const parts = org.headings.map(({ level, todo, title, line }) => {
      return { level, todo, title, line };
    });
    expect(parts).toEqual([
      { level: 1, todo: null, title: "stories", line: 3 },
      { level: 2, todo: "ASSIGNED", title: "hello world — one story", line: 4 },
      { level: 2, todo: "PUBLISHED", title: "done", line: 14 },
    ]);
    expect(statesOf(org)).toEqual(["ASSIGNED", "RESEARCH", "PUBLISHED", "KILLED"]);
    expect(org.sequences[0]?.done).toEqual(["PUBLISHED", "KILLED"]);
  });

  test("has properties in any case, each with its place", () => {
    const [, hello] = org.headings;
    const agent = hello && propertyOf(hello, "Agent");
    expect(agent).toMatchObject({ name: "agent", value: "moss", line: 8 });
    expect(BOARD.slice(agent?.valueFrom, agent?.valueTo)).toBe("moss");
    expect(BOARD.slice(hello?.drawer?.from, hello?.drawer?.to)).toMatch(
      /^:PROPERTIES:\n.*\n.*moss\n:END:$/,
    );
    expect(BOARD.slice(hello?.logbook?.innerFrom, hello?.logbook?.innerTo)).toBe("- opened\n");
  });

  test("is the same with CRLF", () => {
    const crlf = scanOrg(BOARD.replaceAll("\n", "\r\n"));
    expect(crlf.eol).toBe("\r\n");
    const parts = (o: typeof org) =>
      o.headings.map((h) => [h.title, h.line, h.properties.map((p) => [p.name, p.value])]);
    expect(parts(crlf)).toEqual(parts(org));
    expect(crlf.keywords.map((k) => k.value)).toEqual(org.keywords.map((k) => k.value));
  });
});

const titles = (text: string) => scanOrg(text).headings.map((h) => h.title);

describe("headings", () => {
  test.each([
    ["* a\n** b", ["a", "b"]],
    ["\ufeff* a", ["a"]],
    [" * a\n*b\n*\n*\tb\n- * c", []],
    ["* ", [""]],
    ["* TODO", [""]],
    ["* TODOS now", ["TODOS now"]],
    ["* todo now", ["todo now"]],
    ["* [#AB] x", ["[#AB] x"]],
    ["* a :b", ["a :b"]],
    ["* a b:", ["a b:"]],
    ["* a ::", ["a ::"]],
    ["* :t:", [""]],
    ["#+BEGIN_EXAMPLE\n* x\n#+END_EXAMPLE\n* y", ["y"]],
    ["#+begin_src org\n* x\n#+END_EXAMPLE\n* y\n#+End_Src\n* z", ["z"]],
    ["#+BEGIN_SRC\n* x\n#+END_EXAMPLE\n", ["x"]],
    [":NOTES:\nx\n* a\n:END:\n* b", ["a", "b"]],
  ])("%j", (text, expected) => expect(titles(text)).toEqual(expected));

  test.each([
    ["no drawer", "* a\n:A: 1\n"],
    ["one that is never closed", "* a\n:PROPERTIES:\n:A: 1\n* b\n:END:\n"],
    ["one in a block", "* a\n#+BEGIN_QUOTE\n:PROPERTIES:\n:A: 1\n:END:\n#+END_QUOTE\n"],
    ["one in another drawer", "* a\n:NOTES:\n:PROPERTIES:\n:A: 1\n:END:\n"],
    ["one before the first heading", ":PROPERTIES:\n:A: 1\n:END:\n* a\n"],
  ])("no properties: %s", (_, text) => {
    expect(scanOrg(text).headings[0]).toMatchObject({ title: "a", properties: [], drawer: null });
  });

  test("lines of a drawer that are not properties are listed", () => {
    const [a] = scanOrg("* a\n:PROPERTIES:\n:A:1\n\n:B:\n:C:D: e:f: g\nx\n:END:").headings;
    expect(a?.strays).toEqual([3, 7]);
    expect(a?.properties.map(({ name, value }) => [name, value])).toEqual([
      ["B", ""],
      ["C:D", "e:f: g"],
    ]);
  });
});

describe("states", () => {
  test.each([
    ["", ["TODO"], ["DONE"]],
    ["#+TODO: A B C", ["A", "B"], ["C"]],
    ["#+seq_todo: A | B C", ["A"], ["B", "C"]],
    ["#+TODO: | B", [], ["B"]],
    ["#+TODO:", ["TODO"], ["DONE"]],
    ["#+BEGIN_SRC\n#+TODO: A | B\n#+END_SRC", ["TODO"], ["DONE"]],
  ])("%j", (text, open, done) => expect(scanOrg(text).sequences).toEqual([{ open, done }]));

  test("several lines add up, also one below its use", () => {
    const org = scanOrg("* WAIT x\n#+TODO: A | B\n#+TODO: WAIT | GONE");
    expect(org.headings[0]?.todo).toBe("WAIT");
    expect(statesOf(org)).toEqual(["A", "B", "WAIT", "GONE"]);
  });
});

test.each([
  ["* a\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> b\n", 2],
  ["#+BEGIN_SRC\n>>>>>>> b\r\n#+END_SRC", 2],
  ["||||||| base", 1],
  ["=======\n<<<<<<<x\n <<<<<<< y\n<<<<<<<<", null],
])("conflict markers: %j", (text, line) => expect(scanOrg(text).conflictLine).toBe(line));
