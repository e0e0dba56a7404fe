import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { knownPath } from "../../../test/support/handle-paths.ts";
import { places } from "../../../test/support/run-files.ts";
import { openRun } from "../../main.ts";

type Call = (...args: unknown[]) => unknown;
const CALLS = ["lstatSync", "renameSync", "openSync", "readSync", "writeSync"] as const;

/** Another process makes that file right before the n-th call of these. */
class PausesAt {
  calls = 0;
  /** Tasks that were taken before. */
  readonly taken: string[] = [];
  readonly #originals = new Map<string, Call>();

  constructor(file: string, at: number) {
    const library = fs as unknown as Record<string, Call>;
    const write = fs.writeFileSync;
    for (const name of CALLS) {
      const original = library[name] as Call;
      this.#originals.set(name, original);
      library[name] = (...args) => {
        if (++this.calls === at) write(file, "");
        const result = original(...args);
        const to = name === "renameSync" ? knownPath(args[1]) : "";
        const [, id] = /claimed\/w\/(.*)\.json$/.exec(to) ?? [];
        if (id !== undefined && this.calls < at) this.taken.push(id);
        return result;
      };
    }
    syncBuiltinESMExports();
  }

  undo(): void {
    for (const [name, original] of this.#originals) {
      (fs as unknown as Record<string, Call>)[name] = original;
    }
    syncBuiltinESMExports();
  }
}

test.each([
  ["the run's", "paused.json", undefined],
  ["the worker's", "claimed/w/.paused", "w"],
])(
  "whenever %s pause comes, only tasks that were taken before it are handed out",
  async (_, file, worker) => {
    const shape = fc.record({
      tasks: fc.integer({ min: 1, max: 4 }),
      max: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(shape, fc.integer({ min: 1, max: 120 }), async ({ tasks, max }, at) => {
        const run = join(newFolder(), "run");
        const store = await openRun(run, { create: true, durability: "fast" });
        for (let n = 0; n < tasks; n++) await store.enqueue({ id: `t${n}`, type: "t" });
        fs.mkdirSync(join(run, "claimed/w"));
        const other = new PausesAt(join(run, file), at);
        let claims: { id: string }[];
        try {
          claims = await store.claim({ worker: "w", max });
        } finally {
          other.undo();
        }
        const isPaused = other.calls >= at;
        const ids = claims.map(({ id }) => id);
        if (isPaused) for (const id of ids) expect(other.taken).toContain(id);
        else expect(ids).toHaveLength(Math.min(tasks, max));
        for (const [id, lies] of places(run)) {
          expect(lies, id).toEqual([
            ids.includes(id) ? { state: "claimed", worker: "w" } : { state: "pending" },
          ]);
        }
        if (isPaused) expect(await store.claim({ worker: worker ?? "w2", max: 9 })).toEqual([]);
        await store.resume({ worker });
        const rest = await store.claim({ worker: "w2", max: 9 });
        expect([...ids, ...rest.map(({ id }) => id)].sort()).toEqual(
          Array.from({ length: tasks }, (_, n) => `t${n}`),
        );
        await store.close();
      }),
      { numRuns: 150 },
    );
  },
);

test("anything in the place of the file pauses, and is readable", async () => {
  const run = join(newFolder(), "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  const path = join(run, "paused.json");
  for (const make of [
    () => fs.writeFileSync(path, ""),
    () => fs.mkdirSync(path),
    () => fs.symlinkSync("/nowhere", path),
  ]) {
    make();
    expect(await store.paused()).toMatchObject({ by: "someone" });
    expect(await store.claim({ worker: "w" })).toEqual([]);
    fs.rmSync(path, { recursive: true });
  }
  await store.pause({ by: "pia", note: "lunch" });
  expect(JSON.parse(fs.readFileSync(path, "utf8"))).toMatchObject({ by: "pia", note: "lunch" });
  await store.close();
});
