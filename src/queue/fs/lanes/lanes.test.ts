import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { newRun } from "../../../../test/support/new-run.ts";
import { canonicalJson } from "../../../base/json.ts";
import { openRun } from "../../../main.ts";
import type { Store } from "../../store.ts";

/** Lanes are hints: whatever they say, or do not say, every task is found once. */

describe("foreign types", () => {
  test("a task of any type is found, by claims of any type and of that one", async () => {
    const type = fc.oneof(
      fc.string(),
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.constantFrom("", " ", "a b", "a\tb", "a\nb", "%20", "a%09b", "é", "\ud800", "__proto__"),
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(type, { minLength: 1, maxLength: 4 }), async (types) => {
        const { store, path } = await newRun();
        const ids = types.map((one, i) => {
          const id = `f${i}`;
          // As they arrive: whole, under a hidden name first.
          writeFileSync(
            join(path, "pending", `${id}.json`),
            canonicalJson({ task_id: id, task_type: one, payload: { one } }),
          );
          return id;
        });
        const [first = ""] = types;
        const mine = await store.claim({ worker: "w", types: [first] });
        expect(mine.map(({ task }) => task.task_id)).toEqual([ids[0]]);
        expect(mine[0]?.task.task_type).toBe(first);
        const rest = await store.claim({ worker: "w", max: 10 });
        expect(rest.map(({ task }) => task.task_id).sort()).toEqual(ids.slice(1).sort());
        for (const { task } of rest) expect(types).toContain(task.task_type);
        await store.close();
        rmSync(path, { recursive: true });
      }),
      { numRuns: 60 },
    );
  });
});

describe("lanes with too many lines, too few, or nonsense", () => {
  const nonsense = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[a-c]{1,3}\t[a-z]*\t[0-9]*\t[0-9.]*\t.{0,30}$/),
    fc.constantFrom("\t\t\t\t", "a", "a\tt", "../x\tt\t1\t\t", "a\tt\t1\t1.2.3\t{", "\n\n"),
  );

  test("every task is claimed once, whatever lines there are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(nonsense, { maxLength: 6 }),
        fc.array(nonsense, { maxLength: 6 }),
        async (before, after) => {
          const { store, path } = await newRun();
          const lane = join(path, ".viv/lanes/normal.log");
          writeFileSync(lane, before.map((line) => `${line}\n`).join(""));
          for (const id of ["a", "b", "c"]) await store.enqueue({ id, type: "t" });
          writeFileSync(lane, after.map((line) => `${line}\n`).join(""), { flag: "a" });
          const claims = [];
          for (let n = 0; n < 4; n++) claims.push(...(await store.claim({ worker: "w", max: 2 })));
          expect(claims.map(({ task }) => task.task_id).sort()).toEqual(["a", "b", "c"]);
          await store.close();
          rmSync(path, { recursive: true });
        },
      ),
      { numRuns: 40 },
    );
  });

  test("a lane that was removed, or a cursor beyond its end, costs nothing but time", async () => {
    const { store, path } = await newRun();
    for (const id of ["a", "b", "c"]) await store.enqueue({ id, type: "t" });
    await store.claim({ worker: "w" });
    await store.close();
    writeFileSync(join(path, ".viv/cursors/normal.all"), "999999");
    const second = await openRun(path, { durability: "fast" });
    expect((await second.claim({ worker: "w" })).map((c) => c.task.task_id)).toEqual(["b"]);
    await second.close();
    writeFileSync(join(path, ".viv/cursors/normal.all"), "nonsense");
    rmSync(join(path, ".viv/lanes/normal.log"));
    const third = await openRun(path, { durability: "fast" });
    expect((await third.claim({ worker: "w" })).map((c) => c.task.task_id)).toEqual(["c"]);
    await third.close();
  });

  test("a lane that is rebuilt under a reader, shorter than it was", async () => {
    const { store, path } = await newRun();
    for (const id of ["a", "b", "c"]) await store.enqueue({ id, type: "t" });
    await store.claim({ worker: "w" });
    const lane = join(path, ".viv/lanes/normal.log");
    const lines = readFileSync(lane, "latin1").split("\n");
    writeFileSync(lane, `${lines[2]}\n`);
    const other = await openRun(path, { durability: "fast" });
    const claims = [
      ...(await other.claim({ worker: "v", max: 5 })),
      ...(await other.claim({ worker: "v", max: 5 })),
      ...(await store.claim({ worker: "w", max: 5 })),
    ];
    expect(claims.map(({ task }) => task.task_id).sort()).toEqual(["b", "c"]);
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

  test("share a lane: each task once, none overtaken by more than a window", async () => {
    const { stores, ids } = await crowd(3);
    const taken = await claimInTurns(stores);
    expect([...taken].sort()).toEqual(ids);
    const worst = Math.max(...taken.map((id, at) => Math.abs(ids.indexOf(id) - at)));
    expect(worst).toBeLessThanOrEqual(64 + 3);
    for (const store of stores) await store.close();
  });

  test("a claimer that stops in the middle loses no task", async () => {
    const { stores, ids } = await crowd(3);
    const before = await claimInTurns(stores, 700);
    const rest = await claimInTurns(stores.slice(0, 1));
    expect([...before, ...rest].sort()).toEqual(ids);
    for (const store of stores) await store.close();
  });

  test("a later claimer finds the rest", async () => {
    const { path, stores, ids } = await crowd(3);
    const before = await claimInTurns(stores, 700);
    for (const store of stores) await store.close();
    const later = await openRun(path, { durability: "fast" });
    await later.register("w0");
    const back = await later.claim({ worker: "w0", max: TASKS });
    // Closing gave nothing back: workers keep their claims.
    const all = [...before, ...back.map(({ task }) => task.task_id)].sort();
    expect([...new Set(all)]).toEqual(ids);
    await later.close();
  });
});
