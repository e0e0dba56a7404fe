import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NOW, snapshotOf, taskRow } from "../../../test/support/top-snapshots.ts";
import { asWritten, colorsFor, widthOf } from "../../operation/term.ts";
import { shares } from "./header.ts";
import { type Model, newModel, update } from "./model.ts";
import { changes, painted } from "./paint.ts";
import { frame } from "./render.ts";
import type { Snapshot } from "./snapshot.ts";

const NO_COLOR = colorsFor({}, false);
const COLOR = colorsFor({ TERM: "xterm" }, true);

function modelOf(snapshot: Snapshot, columns = 80, rows = 24, ...keys: string[]): Model {
  let [model] = update(newModel({ columns, rows }), { kind: "snapshot", snapshot });
  for (const key of keys) [model] = update(model, { kind: "key", key });
  return model;
}

function drawn(model: Model, look = { color: NO_COLOR, isUtf8: true }): string[] {
  return frame(model, NOW, look.color.isColorSupported).map((line) => painted(line, look));
}

const NIGHT = snapshotOf({
  tasks: [
    taskRow("t.1", "claimed", { worker: "ada", title: "Repair the roof" }),
    taskRow("t.22", "pending", { priority: "high" }),
  ],
  workers: [
    {
      ...{ name: "ada", process: "alive", alive: true, heartbeat_age: 3, types: null },
      ...{ claims: ["t.1"], note: "", paused: null },
    },
  ],
  paused: { by: "bo", at: "2026-11-18T11:00:00Z" },
});

it("fills the screen: header, table, keys", () => {
  const lines = drawn(modelOf(NIGHT)).map((line) => line.trimEnd());
  expect(lines).toHaveLength(24);
  expect(lines[0]).toBe(` viv top  night  /runs/night${" ".repeat(39)}12:00:00 UTC`);
  expect(lines[1]).toBe(` [${"#".repeat(38)}${":".repeat(38)}]`);
  expect(lines[2]).toBe(" working 1  review 0  failed 0  ready 1  waiting 0  done 0  cancelled 0");
  expect(lines[3]).toBe(
    " workers 1/1 busy   gate 2/4 +3 waiting   today $1.50 of $20.00   42 events/min",
  );
  expect(lines[4]).toContain("paused by bo");
  expect(lines.slice(5, 9)).toEqual([
    " [Tasks] Workers  Crew  Parts",
    "  STATE   TASK TYPE PRI  AGE WORKER TITLE",
    "> working t.1  fix        1m ada    Repair the roof",
    "  ready   t.22 fix  high  1m",
  ]);
  expect(lines.at(-1)).toMatch(/^F1Help .*F10Quit$/);
});

it("says above each tab that viv.toml cannot be used, with the command first", () => {
  const note = "the last good viv.toml counts: /a/viv.toml:3: unknown key";
  const bad = snapshotOf({ ...NIGHT, note });
  for (const [rows, line, keys] of [
    [24, 5, []],
    [24, 5, ["tab"]],
    [24, 5, ["backtab"]],
    [12, 3, []],
  ] as const) {
    const lines = drawn(modelOf(bad, 70, rows, ...keys));
    expect(lines[line]).toMatch(/^ viv config check: the last good viv\.toml counts: \/a\//);
    expect(lines[line + 1]).toContain("Workers");
    expect(lines).toHaveLength(rows);
  }
});

it("teaches where there is nothing", () => {
  const empty = snapshotOf();
  const texts = ["", "tab", "backtab"].map((key) =>
    drawn(modelOf(empty, 80, 24, ...(key ? [key] : []))).join("\n"),
  );
  expect(texts[0]).toContain("viv enqueue --type TYPE");
  expect(texts[1]).toContain("viv work");
  expect(texts[2]).toContain("viv up");
});

it.each([
  ["help", ["f1"], "tag a task"],
  ["a question", ["x"], "cancel t.1? y/n"],
  ["a filter", ["f4", "r", "o"], "Filter: ro_"],
])("shows %s", (_, keys, text) => {
  expect(drawn(modelOf(NIGHT, 80, 24, ...keys)).join("\n")).toContain(text);
});

describe("on any terminal", () => {
  const EVIL = "\u001b[2J\r\n\t\u202eevil\u009b31m 界界 e\u0301";
  const evil = snapshotOf({
    run_id: EVIL,
    tasks: [
      taskRow("t.1", "claimed", { worker: EVIL, title: EVIL, type: EVIL }),
      ...Array.from({ length: 40 }, (_, i) => taskRow(`t.${i}${"x".repeat(i)}`, "pending")),
    ],
  });

  it("each line is exactly as wide as that, and there are as many as that", () => {
    const keys = fc.array(
      fc.constantFrom("down", "tab", "f1", "enter", "f5", "x", "f4", "é", "escape"),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(fc.nat(150), fc.nat(50), keys, fc.boolean(), (columns, rows, pressed, isUtf8) => {
        const model = modelOf(evil, columns + 1, rows + 1, ...pressed);
        const lines = drawn(model, { color: COLOR, isUtf8 });
        expect(lines).toHaveLength(rows + 1);
        for (const line of lines) expect(widthOf(line)).toBe(columns + 1);
      }),
      { numRuns: 60 },
    );
  });

  it("text of others commands nothing, in ASCII too", () => {
    for (const isUtf8 of [true, false]) {
      const text = drawn(modelOf(evil), { color: NO_COLOR, isUtf8 }).map(asWritten).join("");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be there
      expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
      if (!isUtf8) expect(text).toMatch(/^[\u0020-\u007e]*$/);
    }
  });
});

it("draws only lines that differ, in one write", () => {
  expect(changes(["a", "b"], ["a", "b"])).toBe("");
  expect(changes(["a", "b", "c"], ["a", "x"])).toBe(
    "\u001b[?2026h\u001b[2;1H\u001b[Kx\u001b[3;1H\u001b[K\u001b[?2026l",
  );
});

it("gives each state at least a column of the bar, and all of them the whole", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100_000), { minLength: 1, maxLength: 7 }), (numbers) => {
      const parts = shares(numbers, 40);
      const all = numbers.reduce((sum, one) => sum + one, 0);
      expect(parts.reduce((sum, one) => sum + one, 0)).toBe(all === 0 ? 0 : 40);
      numbers.forEach((one, i) => {
        expect((parts[i] ?? 0) > 0).toBe(one > 0);
      });
    }),
  );
});
