import { appendFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { openRun } from "../../main.ts";
import type { Store } from "../store.ts";
import { OVERDUE_MS, Shares } from "./shares.ts";

/** Announcements are hints: they save looks, and whatever they say, every task is found. */

function two() {
  const path = join(newFolder(), "normal.all.shares");
  let time = 1_000;
  const open = () => new Shares(path, "lane", () => time);
  const pass = (ms: number) => {
    time += ms;
  };
  return { path, a: open(), b: open(), pass };
}

describe("announcements", () => {
  test("of two that want the same piece, the first in the file gets it", () => {
    const { a, b } = two();
    expect(a.announce(0, 100)).toBe(true);
    expect(b.announce(0, 100)).toBe(false);
    expect(b.announce(50, 150)).toBe(false);
    expect(b.announce(100, 200)).toBe(true);
    expect(a.heard()).toBe(false);
    a.read();
    expect(a.heard()).toBe(true);
    expect(a.border).toBe(100);
  });

  test("a piece of somebody else is passed over, and taken up again when it is overdue", () => {
    const { a, b, pass } = two();
    a.announce(0, 100);
    b.read();
    expect(b.passOver(0)).toBe(100);
    expect(b.overdue(false)).toBeUndefined();
    expect(b.tried).toBe(0);
    pass(OVERDUE_MS);
    expect(b.overdue(false)).toMatchObject({ from: 0, to: 100 });
    expect(b.overdue(true)).toBeUndefined();
  });

  test("who announces the next piece is through with the one before", () => {
    const { a, b, pass } = two();
    a.announce(0, 100);
    b.read();
    expect(b.passOver(0)).toBe(100);
    a.announce(100, 200);
    a.announce(200, 300);
    b.read();
    pass(10 * OVERDUE_MS);
    expect(b.overdue(true)).toBeUndefined();
    expect(b.passOver(100)).toBe(300);
    expect(b.overdue(true)).toMatchObject({ from: 200, to: 300 });
    expect(b.overdue(true)).toBeUndefined();
  });

  test("lines that make no sense, of other lanes, or torn, mean nothing", () => {
    const { path, a } = two();
    appendFileSync(path, "x\nother 0 500 w\nlane 9 3 w\nlane -1 3 w\nlane 0 1e9 w\nlane 0 77");
    a.read();
    expect(a.announced).toBe(0);
    expect(a.border).toBe(Number.POSITIVE_INFINITY);
    appendFileSync(path, " w\n");
    a.read();
    expect(a.announced).toBe(77);
  });

  test("without its folder there are no announcements, and no error", () => {
    const { path, a } = two();
    rmSync(join(path, ".."), { recursive: true });
    a.read();
    expect(a.announce(0, 10)).toBe(true);
  });
});

describe("busy claimers", () => {
  const TASKS = 1_500;

  async function crowd(claimers: number) {
    const path = join(newFolder(), "run");
    const stores: Store[] = [await openRun(path, { create: true, durability: "fast" })];
    const ids = Array.from({ length: TASKS }, (_, i) => `t.${String(i).padStart(5, "0")}`);
    await stores[0]?.enqueueMany(ids.map((id) => ({ id, type: "x" })));
    while (stores.length < claimers) stores.push(await openRun(path, { durability: "fast" }));
    await Promise.all(stores.map((store, i) => store.register(`w${i}`)));
    return { path, stores, ids };
  }

  function announcersOf(folder: string): number {
    const [shares] = readdirSync(folder).filter((name) => name.endsWith(".shares"));
    const lines = shares ? readFileSync(join(folder, shares), "utf8").trim().split("\n") : [];
    return new Set(lines.map((line) => line.split(" ")[3])).size;
  }

  async function claimInTurns(stores: Store[], limit = Number.POSITIVE_INFINITY) {
    const taken: string[] = [];
    for (let idle = 0, i = 0; idle < stores.length && taken.length < limit; i++) {
      const worker = i % stores.length;
      const [claim] = (await stores[worker]?.claim({ worker: `w${worker}` })) ?? [];
      if (claim) taken.push(claim.task.task_id);
      idle = claim ? 0 : idle + 1;
    }
    return taken;
  }

  test("share a lane: each task once, nobody overtaken by more than a piece for each", async () => {
    // On a machine that is busy with other things they may be too slow for it to be worth while.
    for (let announcers = 0; announcers < 3; ) {
      const { path, stores, ids } = await crowd(3);
      const taken = await claimInTurns(stores);
      expect([...taken].sort()).toEqual(ids);
      const worst = Math.max(...taken.map((id, at) => Math.abs(ids.indexOf(id) - at)));
      expect(worst).toBeLessThan(64 + 3 * 32);
      for (const store of stores) await store.close();
      announcers = announcersOf(join(path, ".viv", "cursors"));
    }
  });

  test("one that stops in the middle of its piece costs nobody a task", async () => {
    const { stores, ids } = await crowd(3);
    const before = await claimInTurns(stores, 700);
    const rest = await claimInTurns(stores.slice(0, 1));
    expect([...before, ...rest].sort()).toEqual(ids);
    for (const store of stores) await store.close();
  });

  test("who comes later, with what the earlier ones left, finds the rest", async () => {
    const { path, stores, ids } = await crowd(3);
    const before = await claimInTurns(stores, 700);
    for (const store of stores) await store.close();
    const later = await openRun(path, { durability: "fast" });
    await later.register("w0");
    const back = await later.claim({ worker: "w0", max: TASKS });
    // Closing gave nothing back: those who hold claims keep them.
    const all = [...before, ...back.map(({ task }) => task.task_id)].sort();
    expect([...new Set(all)]).toEqual(ids);
    await later.close();
  });
});
