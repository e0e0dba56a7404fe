import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { FakeHost } from "../../../../test/support/machine.ts";
import { Lane } from "./lane.ts";
import { idOfLine } from "./lanes.ts";

/** One lane and its readers, without a run around them. */
function lane(lines: number) {
  const folder = newFolder();
  const path = join(folder, "normal.log");
  const ids = Array.from({ length: lines }, (_, n) => `t${n}`);
  writeFileSync(path, `# name\n${ids.map((id) => `${id}\tx\t2\t\t\n`).join("")}`);
  const { clock } = new FakeHost();
  const there = new Set(ids);
  const isThere = (id: string) => there.has(id);
  const taken = new Map<string, string>();
  return {
    ...{ ids, there, taken },
    reader: (offset = 0) =>
      new Lane(
        path,
        null,
        { name: "name", offset },
        { isThere, random: Math.random, now: () => clock.now() },
      ),
    /** The next one for this worker, or null; what it must not take it leaves. */
    claim(reader: Lane, worker: string, isFor: (id: string) => boolean): string | null {
      for (;;) {
        const line = reader.next(true, worker);
        if (line === null) return null;
        const id = idOfLine(line);
        if (!isThere(id)) reader.missed(line);
        else if (!isFor(id)) reader.leave(line, worker);
        else {
          there.delete(id);
          taken.set(id, worker);
          return id;
        }
      }
    },
  };
}

const any = () => true;

describe("a line that is left to others", () => {
  test("comes first for them, and not again for the worker that left it", () => {
    const { claim, reader, ids } = lane(10);
    const shared = reader();
    const isForW1 = (id: string) => id !== "t0" && id !== "t2";
    expect(claim(shared, "w1", isForW1)).toBe("t1");
    expect(claim(shared, "w1", isForW1)).toBe("t3");
    expect([...shared.ahead()].sort()).toEqual(["t0", "t2", ...ids.slice(4)]);
    expect(claim(shared, "w2", any)).toBe("t0");
    expect(claim(shared, "w1", isForW1)).toBe("t4");
    expect(claim(shared, "w2", any)).toBe("t2");
    expect(claim(shared, "w2", any)).toBe("t5");
  });

  test("holds the cursor back until it is taken", () => {
    const { claim, reader, there } = lane(10);
    const first = reader();
    const isFor = (id: string) => id !== "t3";
    while (claim(first, "w1", isFor) !== null);
    const held = first.cursorToSave();
    expect(claim(reader(held?.offset), "w2", any)).toBe("t3");
    expect(there.size).toBe(0);
    expect(first.cursorToSave()?.offset).toBeGreaterThan(held?.offset ?? 0);
  });

  test("also when the window was rotated among several claimers", () => {
    const { claim, reader, there } = lane(60);
    const first = reader();
    const isFor = (id: string) => id !== "t40";
    expect(claim(first, "w1", isFor)).toBe("t0");
    // Another claimer takes the next two: the reader goes on at a random place.
    for (const id of ["t1", "t2"]) there.delete(id);
    while (claim(first, "w1", isFor) !== null);
    expect([...there]).toEqual(["t40"]);
    expect(claim(reader(first.cursorToSave()?.offset), "w2", any)).toBe("t40");
  });

  test("is found by the other reader of the lane", () => {
    const { claim, reader, ids, taken } = lane(2_000);
    const isForW1 = (id: string) => Number(id.slice(1)) % 100 < 99;
    const [one, two] = [reader(), reader()];
    for (let idle = 0, n = 0; idle < 2; n++) {
      const got = n % 2 === 0 ? claim(one, "w1", isForW1) : claim(two, "w2", any);
      idle = got === null ? idle + 1 : 0;
    }
    expect([...taken.keys()].sort()).toEqual([...ids].sort());
    for (const id of ids) if (!isForW1(id)) expect(taken.get(id)).toBe("w2");
    one.close();
    two.close();
  });
});
