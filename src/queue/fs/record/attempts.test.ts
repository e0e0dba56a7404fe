import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { localMachine } from "../../../platform/processes/machine.ts";
import { type FsRun, record } from "../fs-run.ts";
import { openFsRun } from "../open-fs-run.ts";
import { digestLedger, missingAttempts, readHistory, restoreHistories } from "./attempts.ts";

/** The attempt log is written by several at once: each takes back only what it wrote itself. */

let folder: string;
let run: FsRun;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "viv-attempts-"));
  run = await openFsRun(join(folder, "run"), localMachine(), { create: true });
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
  write(...lines);
  expect(readHistory(run, "a")).toHaveLength(count);
});

function write(...lines: object[]): void {
  for (const line of lines) {
    appendFileSync(join(run.paths.attempts, "a.jsonl"), `${JSON.stringify(line)}\n`);
  }
}

const ended = { event: "ended", task: "a", ...end, at: "2026-01-01T00:00:00.000Z" } as const;

test("an end that was taken back does not come back, though the ledger does not know of it", () => {
  write(end, taken);
  record(run, ended as never);
  expect(missingAttempts(run, "a", digestLedger(run).histories.get("a") ?? [])).toBe(0);
  restoreHistories(run);
  expect(readHistory(run, "a")).toEqual([]);
  write({ torn: true }); // now its file is written anew
  restoreHistories(run);
  restoreHistories(run);
  expect(readHistory(run, "a")).toEqual([]);
});

test("a retry with a line after the next attempt's is one retry", () => {
  write(end, { retried: true, by: "me", at: "" }, { ...end, token: "8" });
  record(run, ended as never);
  record(run, { ...ended, token: "8" } as never);
  record(run, { event: "retried", task: "a", by: "me" });
  restoreHistories(run);
  expect(readHistory(run, "a")).toHaveLength(3);
});
