import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Repository } from "../board/support.ts";
import { newFolder } from "../support/folders.ts";
import { ok } from "./support.ts";

/** No table of a narrow terminal cuts a number, a name or a command: all can be pasted. */

const LONG = "refactor.the-payment-service-of-the-shop.2026-11-16";
const STORY = "a sentence of many words, which may be cut where the terminal is too narrow for it";

async function whole(
  args: string[],
  around: { cwd: string; env: Record<string, string> },
): Promise<void> {
  const shown = (columns: number) =>
    ok(args, { ...around, env: { ...around.env, NO_COLOR: "1" }, columns });
  // Durations go on while the commands run.
  const lasting = (text: string) => text.replaceAll(/(?<!\S)[\d.]+ ?(?:ms|[smh])(?!\S)/g, "");
  const names = (text: string) => [...new Set(lasting(text).match(/\S*[\d/.$]\S*/g))].sort();
  const wide = names(await shown(10_000));
  expect(wide.length, args.join(" ")).toBeGreaterThan(0);
  for (const columns of [60, 40]) {
    const narrow = names((await shown(columns)).replaceAll(/\S*…/g, ""));
    expect(narrow, `${args.join(" ")} at ${columns}`).toEqual(wide);
  }
}

test("of a run", async () => {
  const cwd = newFolder();
  const run = join(cwd, "run");
  const around = { cwd, env: { VIV_RUN: run, VIV_STATE: join(cwd, "state") } };
  await ok(["init", run], around);
  for (const id of ["t.1", `${LONG}.1`, `${LONG}.2`]) {
    await ok(["enqueue", "--type", "audit.of/the+services", "--id", id], around);
  }
  await ok(["claim", "--worker", "a-worker-with-a-long-name.7", "--max", "2"], around);
  const after = ["--depends-on", `${LONG}.1,${LONG}.2`, "--done-when", "npm test -- src/a.test.ts"];
  await ok(["enqueue", "--type", "t", "--id", "t.2", ...after], around);
  await ok(["status", "--summary", STORY, "--next-task-id", `${LONG}.2`], around);
  await ok(["accounts", "close", "anthropic-main.2", "--for", "2h", "--note", STORY], around);
  await ok(["gate", "--max", "13"], around);
  for (const args of [["ls"], ["status"], ["show", "t.2"], ["accounts"], ["gate"]]) {
    await whole(args, around);
  }
  await whole(["prices"], around);
});

test("of workspaces", async () => {
  const cwd = newFolder();
  const run = join(cwd, "run");
  const around = { cwd, env: { VIV_RUN: run } };
  await ok(["init", run], around);
  mkdirSync(join(run, "workspaces", LONG), { recursive: true });
  await whole(["workspaces"], around);
});

test("of a pit", async () => {
  const cwd = newFolder();
  const pit = join(cwd, "pit");
  const around = { cwd, env: { VIV_RUN: pit } };
  await ok(["pit", "init", pit], around);
  await ok(["pit", "toss", pit, STORY], around);
  await ok(["claim", "--worker", "snake-1"], around);
  const { id } = JSON.parse(await ok(["pit", "toss", pit, STORY, "--json"], around));
  await ok(["cancel", id], around);
  writeFileSync(join(pit, "food/food-0003-broken.md"), "\0");
  await ok(["reap"], around);
  await whole(["pit", "status", pit], around);
});

test("of a board", async () => {
  const text = `#+TODO: WRITING | DONE\n* WRITING ${STORY}\n:PROPERTIES:\n:CUSTOM_ID: ${LONG}\n:END:\n`;
  const { top } = new Repository(text);
  const around = { cwd: top, env: { HOME: top, PATH: process.env.PATH ?? "" } };
  await whole(["board", "ls"], around);
  await whole(["board", "log", LONG], around);
});
