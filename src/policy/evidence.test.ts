import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { questionFor } from "../model/question.ts";
import { answeredNonce, isProgress, SeenLines, tellingPart } from "./evidence.ts";

const question = questionFor({
  ...{ target: "gt-gastown-Toast", reason: "no_progress ALIVE", requester: "deacon" },
  ...{ attempt: 1, attempts: 3, timeoutMs: 60_000, nonce: "7f3a9c" },
});

describe("an answer", () => {
  test.each([
    ["ALIVE 7f3a9c"],
    ["● ALIVE 7f3a9c"],
    ["I am ALIVE: 7f3a9c, and at work"],
    ["**alive** `7f3a9c`"],
  ])("%s", (line) => {
    expect(answeredNonce(["$ agent", ...question.lines, line], ["7f3a9c"])).toBe("7f3a9c");
  });

  test("broken by the terminal", () => {
    expect(answeredNonce(["│ ALIVE │", "│ 7f3a9c │"], ["7f3a9c"])).toBe("7f3a9c");
  });

  test.each([
    ["the word alone, as a file may have it", ["ALIVE"]],
    ["of another question", ["ALIVE 111111"]],
    ["the nonce alone", ["7f3a9c"]],
    ["part of a longer word", ["ALIVE 7f3a9cd"]],
  ])("not %s", (_, lines) => {
    expect(answeredNonce([...question.lines, ...lines], ["7f3a9c"])).toBeNull();
  });

  test("its own question never is one, however it is wrapped, framed and repeated", () => {
    const width = fc.integer({ min: 4, max: 200 });
    const frame = fc.constantFrom("", "│ ", "> ", "# ", "+ ", "echo ");
    holds(
      fc.property(width, frame, fc.integer({ min: 1, max: 3 }), (columns, before, times) => {
        const screen = Array.from({ length: times }, () => question.lines)
          .flat()
          .flatMap((line) => line.match(new RegExp(`.{1,${columns}}`, "g")) ?? [])
          .map((line) => before + line);
        expect(answeredNonce(screen, ["7f3a9c"])).toBeNull();
      }),
    );
  });
});

describe("what is new on a screen", () => {
  const seen = (...screen: string[]) => {
    const lines = new SeenLines();
    lines.add(screen);
    lines.addQuestion(question);
    return lines;
  };

  test("a line that was not there", () => {
    const lines = seen("compiling a.ts");
    expect(lines.take(["compiling a.ts", "compiling b.ts"])).toEqual(["compiling b.ts"]);
    expect(lines.take(["compiling b.ts"])).toEqual([]);
  });

  test("not the question, wrapped or framed or said again", () => {
    const echo = question.lines.map((line) => `│ ${line.slice(0, 40)}`);
    const rest = question.lines.map((line) => `│ ${line.slice(40)}`);
    expect(seen().take([...echo, ...rest, `you said: ${question.lines[0]}`])).toEqual([]);
    expect(seen().take(["[Pasted text #1 +4 lines]"])).toEqual([]);
  });

  test("not the question on one line with what was there before", () => {
    const lines = seen("| working");
    expect(lines.take(["/ working3a9c (say the word, a space and this nonce)"])).toEqual([]);
    expect(lines.take(["compiling all of it anew: b.ts, c.ts3a9c (say"])).toHaveLength(1);
  });

  test("not spinners, clocks and how long it takes", () => {
    const lines = seen("✻ Simmering… (41s · 1.2k tokens)", "17:02:11 waiting |");
    expect(lines.take(["✶ Simmering… (1m 42s · 1.2k tokens)", "17:02:12 waiting /"])).toEqual([]);
    expect(lines.take(["✶ Simmering… (43s · 1.3k tokens)"])).toHaveLength(1);
  });

  test("not the same thing over and over", () => {
    expect(seen("y", "ALIVE").take(["y", "y", "ALIVE", "ALIVE"])).toEqual([]);
  });

  test("a number that grows is new", () => {
    expect(seen("downloading 30%").take(["downloading 31%"])).toEqual(["downloading 31%"]);
  });

  test("a line of frames says nothing", () => {
    expect(tellingPart("──── ⠋ ────")).toBe("");
  });
});

test("progress keeps coming: once is none", () => {
  const burst = (at: number) => ({ at: new Date(at).toISOString(), source: "screen", what: "x" });
  expect(isProgress([], 1000)).toBe(false);
  expect(isProgress([burst(5000)], 1000)).toBe(false);
  expect(isProgress([burst(5000), burst(5400)], 1000)).toBe(false);
  expect(isProgress([burst(5000), burst(6000)], 1000)).toBe(true);
});
