import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { numberOf } from "../../src/pit/food-names.ts";
import { viv } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { DIST } from "../support/processes.ts";
import { ended, Pit } from "./support.ts";

/** Numbers of food: in order, each once, also with concurrent tosses. */

const TOSSER = fileURLToPath(new URL("tosser.mjs", import.meta.url));

interface Tosser {
  child: ChildProcess;
  said: string[];
}

async function tossers(pit: Pit, count: number, each: number): Promise<Tosser[]> {
  const all = Array.from({ length: count }, (_, n): Tosser => {
    const child = spawn(process.execPath, [TOSSER, pit.dir, `k${n}`, String(each)], {
      env: { ...process.env, VIV_DIST: DIST },
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => {
      child.kill("SIGKILL");
    });
    const tosser: Tosser = { child, said: [] };
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      tosser.said = text.split("\n").slice(0, -1);
    });
    return tosser;
  });
  await until("all are ready", () => all.every(({ said }) => said.includes("ready")));
  return all;
}

async function go(all: readonly Tosser[]): Promise<string[][]> {
  for (const { child } of all) child.stdin?.write("go\n");
  for (const { child } of all) {
    if (child.exitCode === null) await once(child, "close");
    expect(child.exitCode).toBe(0);
  }
  return all.map(({ said }) => said.slice(1));
}

const numbers = (ids: readonly string[]) => ids.map((id) => numberOf(id) ?? -1);
const upwards = (list: readonly number[]) => [...list].sort((a, b) => a - b);
const from = (first: number, count: number) => Array.from({ length: count }, (_, n) => first + n);

test("eight processes toss at once: 1 to 200, each once, and in order within each", async () => {
  const pit = await Pit.make();
  const ids = await go(await tossers(pit, 8, 25));
  for (const own of ids) expect(numbers(own)).toEqual(upwards(numbers(own)));
  expect(upwards(numbers(ids.flat()))).toEqual(from(1, 200));
  expect(pit.names("food")).toEqual(
    ids
      .flat()
      .map((id) => `${id}.md`)
      .sort(),
  );
  expect(await pit.findings()).toEqual([]);
});

test("the same with the command, eight at a time", async () => {
  const pit = await Pit.make();
  const all = from(1, 8).map((n) => pit.viv("pit", "toss", `food of ${n}`));
  for (const one of all) expect(await ended(one)).toBe(0);
  expect(upwards(numbers(pit.names("food")))).toEqual(from(1, 8));
});

test("numbers written by people count: higher ones, without zeros, one twice, odd ones", async () => {
  const pit = await Pit.make();
  expect(numberOf(await pit.toss("first"))).toBe(1);
  pit.food("food-7-no-zeros");
  expect(numberOf(await pit.toss("after seven"))).toBe(8);
  pit.food("food-0009-a");
  pit.food("food-0009-b");
  expect(numberOf(await pit.toss("after two nines"))).toBe(10);
  pit.write("claimed/hand.food-0020-mine.md", "- task: x\n");
  expect(numberOf(await pit.toss("after a claim by hand"))).toBe(21);
  pit.food("food-99999999999999999999-absurd");
  pit.food("notes-5000");
  expect(numberOf(await pit.toss("no sense"))).toBe(22);
  const status = await pit.json<{ same_number: unknown }>("pit", "status");
  expect(status.same_number).toEqual([{ number: 9, foods: ["food-0009-a", "food-0009-b"] }]);
});

test("while processes toss, people write: no number is given out twice", async () => {
  const pit = await Pit.make();
  pit.food("food-40-hand");
  const waiting = await tossers(pit, 4, 10);
  pit.food("food-0044-hand");
  const ids = await go(waiting);
  expect(upwards(numbers(ids.flat()))).toEqual(from(45, 40));
});

test("after rm -rf .viv nothing is given out again", async () => {
  const pit = await Pit.make();
  for (const words of ["a", "b", "c"]) await pit.toss(words);
  const handler = pit.script("handler.sh", ":");
  expect(await ended(pit.work(handler, "--max-tasks", "3"))).toBe(0);
  await pit.toss("d");
  await pit.ok("cancel", "food-0004-d");
  rmSync(pit.path(".viv"), { recursive: true });
  const ids = await go(await tossers(pit, 4, 5));
  expect(upwards(numbers(ids.flat()))).toEqual(from(5, 20));
  rmSync(pit.path(".viv"), { recursive: true });
  expect(viv(["doctor", "--fix", "--run", pit.dir]).status).toBe(0);
  expect(numberOf(await pit.toss("after doctor"))).toBe(25);
  expect(await pit.findings()).toEqual([]);
});
