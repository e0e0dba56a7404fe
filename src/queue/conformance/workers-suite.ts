import { describe, expect, test } from "vitest";
import { claimOne, type MakeHarness, refOf, refused, useRun } from "./harness.ts";

export function workersSuite(make: MakeHarness): void {
  describe("workers", () => {
    const run = useRun(make);

    test("names, claims and notes of workers", async () => {
      const worker = await run().open();
      const shell = await run().open();
      for (const id of ["a", "b", "c"]) await worker.enqueue({ id, type: "t" });
      await worker.register("long", { types: ["t", "u"] });
      await worker.claim({ worker: "long", max: 2 });
      await shell.claim({ worker: "shell" });
      run().clock.advance(7_000);
      await worker.heartbeat("long", { note: "half way" });
      const views = await shell.workers();
      expect(views.map(({ name }) => name)).toEqual(["long", "shell"]);
      const [long, short] = views;
      expect(long).toMatchObject({ process: "alive", types: ["t", "u"], note: "half way" });
      expect([...(long?.claims ?? [])].sort()).toEqual(["a", "b"]);
      expect(long?.heartbeatAge).toBeCloseTo(0, 1);
      expect(short).toMatchObject({ process: "none", types: null, claims: ["c"] });
      expect(short?.heartbeatAge).toBeCloseTo(7, 1);
      run().kill(worker);
      expect((await shell.workers())[0]).toMatchObject({ name: "long", process: "gone" });
    });

    test("a worker that left is not shown, nor its empty folder", async () => {
      const store = await run().open();
      const other = await run().open();
      const registration = await store.register("w");
      await registration.release();
      expect(await other.workers()).toEqual([]);
    });

    test("a note becomes one short line", async () => {
      const store = await run().open();
      await store.heartbeat("w", { note: "one\ntwo\r\nviv boot 1 2" });
      expect((await store.workers())[0]?.note).toBe("one two viv boot 1 2");
      await store.heartbeat("w", { note: "x".repeat(10_000) });
      expect((await store.workers())[0]?.note.length).toBeLessThan(1000);
    });

    test("bad names are refused everywhere", async () => {
      const store = await run().open();
      for (const name of ["", ".", "..", ".hidden", "a/b", "a\nb", "a\0b", "x".repeat(129)]) {
        await refused(store.heartbeat(name), "INVALID");
        await refused(store.register(name), "INVALID");
        await refused(store.complete({ id: "a", worker: name }), "INVALID");
      }
      expect(await store.workers()).toEqual([]);
    });

    test("closing a store frees its name, and leaves its claims to the reaper", async () => {
      const store = await run().open();
      const other = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await store.register("w");
      await claimOne(store);
      await store.close();
      await store.close();
      await other.register("w");
      run().clock.advance(3_600_000);
      await other.reap();
      const again = await claimOne(other);
      expect(await other.complete(refOf(again))).toMatchObject({ to: "done" });
    });
  });
}
