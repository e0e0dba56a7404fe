import fc from "fast-check";
import { expect, it } from "vitest";
import { keysIn } from "./keys.ts";

it.each([
  ["\u001b[A\u001bOB", ["up", "down"]],
  [
    "\u001bOP\u001b[11~\u001b[15~\u001b[20~\u001b[21~\u001b[[A",
    ["f1", "f1", "f5", "f9", "f10", "f1"],
  ],
  ["\u001b[5~\u001b[6~\u001b[H\u001b[F\u001b[Z", ["pageup", "pagedown", "home", "end", "backtab"]],
  [
    "q/ä😀 \t\r\u007f\u0003\u001a",
    ["q", "/", "ä", "😀", " ", "tab", "enter", "backspace", "ctrl-c", "ctrl-z"],
  ],
  ["\u001b[200~x\u001b[?1;2c", ["x"]], // answers and sequences that mean nothing here
  ["\u001bx", ["escape", "x"]],
])("reads %j", (text, keys) => {
  expect(keysIn(text)).toEqual({ keys, rest: "" });
});

it("waits for the rest of a sequence; an escape that nothing follows is the key", () => {
  for (const rest of ["\u001b", "\u001b[", "\u001b[2", "\u001bO", "\u001b[["])
    expect(keysIn(`j${rest}`)).toEqual({ keys: ["j"], rest });
  expect(keysIn("\u001b", true)).toEqual({ keys: ["escape"], rest: "" });
});

it("never loops and never throws, whatever comes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const { keys, rest } = keysIn(text);
      expect(keys.every((key) => key.length > 0)).toBe(true);
      expect(text.endsWith(rest)).toBe(true);
    }),
  );
});
