import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { answerIn, isProgress, isSaid, SeenLines, tellingPart, withoutEcho } from "./answer.ts";
import { questionOf } from "./question.ts";

const warrant = { target: "gt-gastown-Toast", reason: "no_progress ALIVE", requester: "deacon" };
const question = questionOf({ warrant }, { number: 1, nonce: "7f3a9c", timeout_ms: 60_000 }, 3);

const answerOn = (...screen: string[]) => answerIn(withoutEcho(screen, [question]), ["7f3a9c"]);

describe("an answer", () => {
  test.each([
    ["ALIVE 7f3a9c"],
    ["● ALIVE 7f3a9c"],
    ["I am ALIVE: 7f3a9c, and at work"],
    ["**alive** `7f3a9c`"],
    ["ALIVE (code: 7f3a9c)"],
    ["ALIVE and 7f3a9c"],
    ["7f3a9c ALIVE"],
    ["7f3a9c"],
    ['{"status":"ALIVE","code":"7f3a9c"}'],
    ["ALIVE 7f3a9c On it."],
    ["OK 7f3a9c"],
    ["Warden health check received, nonce 7f3a9c."],
    ['{"health":"ok","nonce":"7f3a9c"}'],
  ])("certain: %s", (line) => {
    expect(answerOn("$ agent", question.typed, line)).toBe("certain");
    expect(answerOn("$ agent", question.typedToAgent, line)).toBe("certain");
    expect(answerOn(line)).toBe("certain");
  });

  test.each([
    ["ALIVE"],
    ["ALIVE!"],
    ["● ALIVE"],
    ["alive"],
    ["Yes, I'm ALIVE and working on X"],
    ["yes, still alive, running the tests"],
    ["ALIVE (nonce: 7f3a9c)"],
    ['{"answer": "ALIVE", "nonce": "7f3a9c"}'],
    ["ALIVE 7f3a9"],
    ["ALIVE 111111"],
  ])("the word: %s", (line) => {
    expect(answerOn(question.typed, line)).not.toBeNull();
    expect(answerOn(question.typedToAgent, line)).not.toBeNull();
  });

  test("the question's last words after it", () => {
    expect(answerOn(question.typed, "● ALIVE 7f3a9c on a line by itself")).toBe("certain");
    expect(answerOn(question.typed, "Nonce: 7f3a9c")).toBe("certain");
  });

  test("broken by the terminal", () => {
    expect(answerOn("│ ALIVE │", "│ 7f3a9c │")).toBe("certain");
  });

  test.each([
    ["part of a longer word", "keepALIVE=1 KeepAlive 7f3a9cd"],
    ["a path or an option", "see src/ALIVE.md, --ALIVE, ALIVE=1"],
    ["small letters of something else", "2 of 5 hosts alive"],
    ["another nonce", "111111"],
  ])("not %s", (_, line) => {
    expect(answerOn(question.typed, line)).toBeNull();
  });

  const width = fc.integer({ min: 8, max: 200 });
  const times = fc.integer({ min: 1, max: 3 });
  const wordings = fc.constantFrom(question.typed, question.typedToAgent);
  const frame = fc.constantFrom("", "│ ", "> ", "# ", "+ ", "  ┃  ");
  const wrapped = (text: string, columns: number, before: string) =>
    (text.match(new RegExp(`.{1,${columns}}`, "g")) ?? []).map((line) => before + line);

  test("its own question never is one, however it is wrapped, framed and repeated", () => {
    holds(
      fc.property(wordings, width, frame, times, (wording, columns, before, count) => {
        const screen = Array.from({ length: count }, () =>
          wrapped(wording, columns, before),
        ).flat();
        expect(answerOn(...screen)).toBeNull();
      }),
    );
  });

  test("the exact answer always is one, whatever stands before and after it", () => {
    const line = fc.oneof(
      fc.constantFrom("please type", "so i say", "● ALIVE ebhy2e", "on a", "online now", ""),
      fc.string({ maxLength: 12 }),
    );
    holds(
      fc.property(wordings, line, line, fc.boolean(), (wording, before, after, isEchoed) => {
        const screen = [...(isEchoed ? [wording] : []), before, "● ALIVE 7f3a9c", after];
        expect(answerOn(...screen)).toBe("certain");
      }),
    );
  });

  test.each(["you said: ", "unknown command: ", "echo "])("nor repeated after %j", (before) => {
    const line = before + question.typed;
    expect(answerOn(question.typed, line)).toBeNull();
    expect(answerOn(...wrapped(line, 40, ""))).toBeNull();
  });

  test("nor beside a panel that is drawn on the same rows, nor cut at the top", () => {
    const panel = [
      "  Context",
      "  1,300 tokens",
      "  1% used",
      "  MCP",
      "  LSP",
      "  Todo",
      "  x",
      "  y",
    ];
    const narrow = fc.integer({ min: 30, max: 90 });
    holds(
      fc.property(wordings, narrow, fc.nat({ max: 2 }), (wording, columns, cut) => {
        const rows = wrapped(wording, columns, "  ┃  ").map(
          (row, at) => `${row.padEnd(columns + 8)}│${panel[at % panel.length]}`,
        );
        expect(answerOn(...rows.slice(cut))).toBeNull();
      }),
    );
  });
});

test.each([
  ["running the test suite now…", true],
  ["Health check OK.", true],
  ["Working.", true],
  ["我还活着,正在运行测试", true],
  ["👍", true],
  [`you said: ${question.typed}`, false],
  ["⠋ ...", false],
  ["> ", false],
])("%j is something said: %s", (line, isSo) => {
  expect(withoutEcho([question.typed, line], [question]).map(isSaid)[1]).toBe(isSo);
});

describe("new lines on a screen", () => {
  const seen = (...screen: string[]) => {
    const lines = new SeenLines();
    lines.add(screen);
    lines.addQuestion(question);
    return lines;
  };

  test("a line that was not there", () => {
    const lines = seen("compiling a.ts");
    expect(lines.take(["compiling a.ts", "compiling b.ts"]).map(({ text }) => text)).toEqual([
      "compiling b.ts",
    ]);
    expect(lines.take(["compiling b.ts"])).toEqual([]);
  });

  test("not the question, wrapped or framed or said again", () => {
    const { typed } = question;
    const echo = [`│ ${typed.slice(0, 40)}`, `│ ${typed.slice(40)}`];
    expect(seen().take([...echo, `you said: ${typed}`])).toEqual([]);
    expect(seen().take(["[Pasted text #1 +4 lines]", "[Pasted ~5 lines]"])).toEqual([]);
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
    expect(seen("downloading 30%").take(["downloading 31%"])).toHaveLength(1);
  });

  test("a line of frames is not new", () => {
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
