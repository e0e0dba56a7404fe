import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { localMachine } from "../../host/machine.ts";
import { readHistory } from "./attempts.ts";
import { openFsRun } from "./open.ts";
import type { FsRun } from "./run.ts";

/** The attempt log is written by several at once: each takes back only what it wrote itself. */

let folder: string;
let run: FsRun;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "viv-attempts-"));
  run = openFsRun(join(folder, "run"), localMachine(), { create: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

const end = { attempt: 1, worker: "w", token: "7", outcome: "abandoned", to: "pending", at: "" };
const taken = { void: "7", outcome: "abandoned" };

test.each([
  [[end], 1],
  [[end, taken], 0],
  [[end, end, taken], 1],
  [[end, taken, end], 1],
  [[end, end, taken, taken], 0],
  [[end, { ...end, outcome: "done" }, taken], 1],
])("of %j %i is left", (lines, count) => {
  for (const line of lines) {
    appendFileSync(join(run.paths.attempts, "a.jsonl"), `${JSON.stringify(line)}\n`);
  }
  expect(readHistory(run, "a")).toHaveLength(count);
});
