import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  claimedState,
  nextFor,
  prefixOf,
  readBoard,
  slugOf,
  stateAfter,
  stateBefore,
  taskNamed,
  textOf,
} from "./board.ts";
import { excerptFor } from "./change.ts";
import { advanceMove, bounceMove, claimMove } from "./moves.ts";

const NEWSROOM = "#+TODO: ASSIGNED RESEARCH WRITING EDIT | PUBLISHED KILLED\n";
const request = { agent: "moss", now: Date.UTC(2026, 10, 15, 14, 46) };

describe("a board", () => {
  it("calls a task by its CUSTOM_ID or the words of its title", () => {
    expect(slugOf("Hello, World! — a story — or two")).toBe("hello-world");
    expect(slugOf("  Größe & Maß  ")).toBe("größe-maß");
    expect(slugOf("…")).toBe("");
    const { tasks } = readBoard(
      `${NEWSROOM}* not a task\n* WRITING [#A] a b :tag:\n** EDIT x\n:PROPERTIES:\n:custom_id: y\n:Agent:  hale\n:END:\n* EDIT …\n`,
    );
    expect(tasks.map(({ slug, state, agent, line }) => [slug, state, agent, line])).toEqual([
      ["a-b", "WRITING", null, 3],
      ["y", "EDIT", "hale", 4],
      ["line-9", "EDIT", null, 9],
    ]);
  });

  it("knows the state after and before each, in each sequence", () => {
    const board = readBoard(`${NEWSROOM}#+TODO: WAIT | OVER\n`);
    const after = (state: string) => stateAfter(board, state);
    expect(["ASSIGNED", "EDIT", "PUBLISHED", "KILLED", "WAIT"].map(after)).toEqual([
      ...["RESEARCH", "PUBLISHED", undefined, undefined, "OVER"],
    ]);
    expect(["ASSIGNED", "EDIT", "PUBLISHED", "WAIT"].map((s) => stateBefore(board, s))).toEqual([
      ...[undefined, "WRITING", undefined, undefined],
    ]);
    expect(["ASSIGNED", "RESEARCH", "WAIT"].map((s) => claimedState(board, s))).toEqual([
      ...["RESEARCH", "RESEARCH", "WAIT"],
    ]);
    expect(claimedState(readBoard("#+TODO: A B | C\n#+CLAIM: B C\n"), "A")).toBe("A");
    expect(["ASSIGNED", "EDIT", "WAIT"].map((s) => prefixOf(board, s))).toEqual([
      "desk",
      "edit",
      "wait",
    ]);
    expect(prefixOf(readBoard("#+PREFIX: TODO constructor\n"), "TODO")).toBe("constructor");
    expect(prefixOf(readBoard("#+TODO: constructor | x\n"), "constructor")).toBe("constructor");
  });

  it("offers an agent's own task first, then the first free one", () => {
    const text = `${NEWSROOM}* EDIT a\n:PROPERTIES:\n:AGENT: hale\n:END:\n* WRITING b\n* EDIT c\n* PUBLISHED d\n`;
    const board = readBoard(text);
    expect(nextFor(board, "hale")?.slug).toBe("a");
    expect(nextFor(board, "wren")?.slug).toBe("b");
    expect(nextFor(board, "wren", ["EDIT"])?.slug).toBe("c");
    expect(nextFor(board, "wren", ["PUBLISHED"])).toBeNull();
  });

  it("passes a task on with a line in its log", () => {
    const text = `${NEWSROOM}* RESEARCH a\n:PROPERTIES:\n:AGENT: moss\n:END:\nbody\n`;
    const board = readBoard(text);
    const [task] = board.tasks;
    if (task === undefined) throw new Error("no task");
    expect(advanceMove(board, task, { ...request, note: "9\nfacts" })).toMatchObject({
      ...{ from: "RESEARCH", to: "WRITING", subject: "research: a — 9 facts" },
      text: `${NEWSROOM}* WRITING a\n:LOGBOOK:\n- [2026-11-15 Sun 14:46] moss: RESEARCH → WRITING: 9 facts\n:END:\nbody\n`,
    });
    expect(bounceMove(board, task, request)).toMatchObject({ to: "ASSIGNED", agent: null });
  });
});

describe("an excerpt of a board", () => {
  const title = fc.constantFrom(
    "a",
    "a b",
    "A: b — c",
    "b a",
    "ab",
    "Ä b",
    "a  b!",
    "x a b",
    "…",
    "a-b",
  );
  const heading = fc.record({
    level: fc.integer({ min: 1, max: 3 }),
    word: fc.constantFrom("ASSIGNED ", "WRITING ", "PUBLISHED ", ""),
    title,
    drawer: fc.constantFrom(
      ...[
        "",
        ":PROPERTIES:\n:CUSTOM_ID: a-b\n:END:\n",
        "  :PROPERTIES:\n  :AGENT:   wren\n  :END:\n",
      ],
      ...[":PROPERTIES:\n:CUSTOM_ID: zz\n:END:\n", ":properties:\n:x: a-b\n:END:\n"],
    ),
    body: fc.constantFrom("", "text\n", "*bold* a b\n", "*** \n", "\n", "Ü a-b\n"),
  });
  const boards = fc
    .tuple(fc.array(heading, { maxLength: 8 }), fc.boolean(), fc.boolean())
    .map(([headings, isCrlf, hasEnd]) => {
      const all = headings.map(
        (one) => `${"*".repeat(one.level)} ${one.word}${one.title}\n${one.drawer}${one.body}`,
      );
      const text = NEWSROOM + all.join("");
      const cut = hasEnd ? text : text.replace(/\n$/, "");
      return isCrlf ? cut.replaceAll("\n", "\r\n") : cut;
    });

  it("leads to the same change as the whole board", () => {
    let compared = 0;
    fc.assert(
      fc.property(boards, fc.constantFrom("a", "a-b", "b", "zz", "ab", "b-a"), (text, slug) => {
        const excerpt = excerptFor(Buffer.from(text), slug);
        const whole = readBoard(text);
        const wanted = whole.tasks.filter((task) => task.slug === slug);
        if (excerpt === null) return;
        const part = readBoard(excerpt.text);
        const found = part.tasks.filter((task) => task.slug === slug);
        expect(found.map((one) => [one.title, one.state, one.agent])).toEqual(
          wanted.map((one) => [one.title, one.state, one.agent]),
        );
        const [one, two] = [found[0], wanted[0]];
        if (one === undefined || two === undefined || one.agent || one.isDone) return;
        compared++;
        const changed = claimMove(part, one, request).text ?? "";
        expect(excerpt.restore(changed, one.heading.from).toString()).toBe(
          claimMove(whole, two, request).text,
        );
      }),
      { numRuns: 2000 },
    );
    expect(compared).toBeGreaterThan(100);
  });

  it("is not made where the kind of a line depends on others", () => {
    const of = (text: string, slug = "a") => excerptFor(Buffer.from(NEWSROOM + text), slug);
    expect(of("* WRITING a\n#+BEGIN_SRC\n* WRITING a\n#+END_SRC\n")).toBeNull();
    expect(of("* WRITING a\n<<<<<<< HEAD\n")).toBeNull();
    expect(of("* WRITING \u212a\n", "k")).toBeNull();
    expect(of("* WRITING ä\n", "ä")).toBeNull();
    expect(of("* WRITING …\n", "line-2")).toBeNull();
  });
});

function shown(text: string, slug: string) {
  const board = readBoard(text);
  return textOf(board, taskNamed(board, slug, "board.org"));
}

describe("the text of a task", () => {
  it("is all under it but its drawers, with the headings below that are no tasks", () => {
    const text = `* TODO a
:LOGBOOK:
- one
- two,
  which goes on
:END:

First.

:PROPERTIES:
:X: 1
:x: 2
:X: 3
:END:
** Notes
- found
*** deeper
** TODO b
Not of a.
** of b's parent
* c
`;
    expect(shown(text, "a")).toEqual({
      properties: { X: "1", x: "2" },
      body: "First.\n\n** Notes\n- found\n*** deeper",
      log: ["one", "two, which goes on"],
    });
    expect(shown(text, "b")).toEqual({ properties: {}, body: "Not of a.", log: [] });
  });

  it("keeps indentation, and has plain line ends", () => {
    const text = "* TODO a\r\n:PROPERTIES:\r\n:END:\r\n\r\n  in\r\nout\r\n\r\n";
    expect(shown(text, "a").body).toBe("  in\nout");
    expect(shown("* TODO a", "a")).toEqual({ properties: {}, body: "", log: [] });
  });
});
