import { appendFileSync, existsSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { StepFeed } from "./steps-file.ts";

function scene() {
  const folder = newFolder();
  const path = join(folder, "steps", "moss.jsonl");
  const timers: (() => void)[] = [];
  const steps: { tool: string; target: string }[] = [];
  const warnings: string[] = [];
  const feed = new StepFeed(
    path,
    {
      after: (_, act) => {
        timers.push(act);
        return () => void timers.splice(timers.indexOf(act), 1);
      },
    },
    { onStep: (step) => steps.push(step), warn: (message) => warnings.push(message) },
  );
  const look = () => timers.shift()?.();
  const write = (...lines: unknown[]) =>
    appendFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return { folder, path, timers, steps, warnings, feed, look, write };
}

it("emits steps while the run goes on, whole lines only, and the last at its end", () => {
  const { path, timers, steps, warnings, feed, look, write } = scene();
  look();
  expect(steps).toEqual([]);
  write({ tool: "fetch", target: "a" });
  appendFileSync(path, '{"tool":"wri');
  look();
  expect(steps).toEqual([{ tool: "fetch", target: "a" }]);
  // Its own agent and time do not count.
  appendFileSync(path, 'te","agent":"hale","ts":1}\n{"tool":"end","target":"z"}');
  look();
  expect(steps).toHaveLength(2);
  feed.end();
  expect(steps.slice(1)).toEqual([
    { tool: "write", target: "" },
    { tool: "end", target: "z" },
  ]);
  expect([timers, warnings, existsSync(path)]).toEqual([[], [], false]);
});

it("skips lines that are no steps, with one warning", () => {
  const { path, steps, warnings, feed, look, write } = scene();
  appendFileSync(path, "junk\n\n[1]\nnull\n");
  write({ tool: 7 }, { tool: "" }, { tool: "a", target: 7 }, { tool: "x".repeat(5_000) });
  write({ tool: "t".repeat(200), target: "u".repeat(600) });
  look();
  look();
  feed.end();
  expect(steps).toEqual([{ tool: "t".repeat(100), target: "u".repeat(500) }]);
  expect(warnings).toEqual([expect.stringContaining("such lines are skipped")]);
});

it("reads so much at a time, and so many in all", () => {
  const { timers, steps, warnings, feed, look, write } = scene();
  for (let i = 0; i < 3_000; i++) write({ tool: "step", target: `${i} ${"x".repeat(80)}` });
  look();
  expect(steps.length).toBeLessThan(200);
  for (let i = 0; i < 30; i++) look();
  expect(steps).toHaveLength(2_000);
  expect(timers).toEqual([]);
  feed.end();
  expect(steps).toHaveLength(2_000);
  expect(warnings).toEqual([expect.stringContaining("more than 2000 steps")]);
});

it("looks at no other file that is put in its place", () => {
  const { folder, path, steps, feed, look } = scene();
  const other = join(folder, "other");
  writeFileSync(other, '{"tool":"secret","target":""}\n');
  renameSync(path, join(folder, "moved"));
  symlinkSync(other, path);
  look();
  feed.end();
  expect([steps, existsSync(other), existsSync(path)]).toEqual([[], true, false]);
});
