import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { canonicalJson } from "../../base/json.ts";
import { openRun } from "../../main.ts";

/** Lanes are hints: whatever they say, or do not say, every task is found once. */

async function newRun() {
  const path = join(newFolder(), "run");
  return { path, store: await openRun(path, { create: true, durability: "fast" }) };
}

describe("foreign types", () => {
  test("a task of any type is found, by those who take any and by those who take that one", async () => {
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

describe("lanes that say too much, too little or nonsense", () => {
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
