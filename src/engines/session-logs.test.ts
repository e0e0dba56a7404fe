import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { followLogs } from "./session-logs.ts";

let root: string;
let lines: string[];
let file: string;

beforeEach(() => {
  root = newFolder();
  lines = [];
  file = join(root, "2026", "11", "log-s1.jsonl");
  mkdirSync(join(root, "2026", "11"), { recursive: true });
});

const PATH = [/^\d{4}$/, /^\d\d$/, /-s1\.jsonl?$/];
const follow = (more = {}) =>
  followLogs({ root, path: PATH, ...more }, (text, isPast) => {
    lines.push(isPast ? `past ${text}` : text);
  });

describe("a session's file", () => {
  test("emits each whole line once", async () => {
    const follower = follow();
    await follower.look();
    expect(follower.isFound).toBe(false);
    writeFileSync(file, "one\ntw");
    await follower.look(true);
    appendFileSync(file, "o\n");
    await follower.look();
    await follower.look();
    expect(lines).toEqual(["one", "two"]);
    expect(follower.isFound).toBe(true);
  });

  test("has a past, without the line that was half written", async () => {
    writeFileSync(file, "one\ntw");
    const follower = follow();
    await follower.skipPast();
    appendFileSync(file, "o\nthree\n");
    await follower.look();
    expect(lines).toEqual(["past one", "two", "three"]);
  });

  test("emits only the end of a huge past", async () => {
    writeFileSync(file, `${`${"x".repeat(99)}\n`.repeat(10_000)}last\n`);
    const follower = follow();
    await follower.skipPast();
    expect(lines.length).toBeLessThan(3000);
    expect(lines.at(-1)).toBe("past last");
  });

  test("may be replaced, emptied or gone for a while", async () => {
    writeFileSync(file, "one\n");
    const follower = follow();
    await follower.look();
    writeFileSync(`${file}.new`, "two\nthree\n");
    renameSync(`${file}.new`, file);
    await follower.look();
    rmSync(file);
    await follower.look();
    writeFileSync(file, "4\n");
    await follower.look();
    expect(lines).toEqual(["one", "two", "three", "4"]);
  });

  test("is not that of another session, and no link", async () => {
    writeFileSync(join(root, "2026", "11", "log-s2.jsonl"), "other\n");
    writeFileSync(join(root, "secret"), "secret\n");
    symlinkSync(join(root, "secret"), file);
    const follower = follow();
    await follower.look();
    expect(lines).toEqual([]);
  });

  test("has others beside it, which may come later", async () => {
    writeFileSync(file, "one\n");
    const follower = follow({ beside: ["s1", "subagents"] });
    await follower.skipPast();
    const folder = join(root, "2026", "11", "s1", "subagents");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "a.jsonl"), "of a\n");
    writeFileSync(join(folder, "a.txt"), "no\n");
    await follower.look();
    expect(lines).toEqual(["past one", "of a"]);
    const deep = join(folder, "workflows", "wf1");
    mkdirSync(deep, { recursive: true });
    writeFileSync(join(deep, "agent-1.jsonl"), "of a workflow\n");
    writeFileSync(join(deep, "journal.jsonl"), "no\n");
    await follower.look();
    expect(lines).toEqual(["past one", "of a", "of a workflow"]);
  });

  test("may be one that is written whole each time", async () => {
    const whole = file.replace(/l$/, "");
    const write = (...ids: string[]) =>
      writeFileSync(whole, JSON.stringify({ messages: ids.map((id) => ({ id })) }));
    write("a");
    const follower = follow();
    await follower.skipPast();
    writeFileSync(whole, '{"messages":[{"id":"a"},{"i');
    await follower.look();
    write("a", "b");
    await follower.look();
    await follower.look();
    expect(lines).toEqual(['past {"id":"a"}', '{"id":"a"}', '{"id":"b"}']);
  });
});
