import { describe, expect, it } from "vitest";
import { readBoard, taskNamed } from "./board.ts";
import { textOf } from "./show.ts";

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

  it("keeps what is indented, and has plain line ends", () => {
    const text = "* TODO a\r\n:PROPERTIES:\r\n:END:\r\n\r\n  in\r\nout\r\n\r\n";
    expect(shown(text, "a").body).toBe("  in\nout");
    expect(shown("* TODO a", "a")).toEqual({ properties: {}, body: "", log: [] });
  });
});
