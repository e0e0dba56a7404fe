import { describe, expect, test } from "vitest";
import { claimOne, collect, type MakeHarness, refOf, refused, useRun } from "./harness.ts";

export function recordSuite(make: MakeHarness): void {
  describe("artifacts", () => {
    const run = useRun(make);

    test("another process reads and lists artifacts, and the last text counts", async () => {
      const [store, other] = await Promise.all([run().open(), run().open()]);
      await store.artifacts.write("a.md", "first");
      await store.artifacts.write("a.md", "second\n");
      expect(await other.artifacts.read("a.md")).toBe("second\n");
      expect(await other.artifacts.read("b.md")).toBeNull();
      expect(await other.artifacts.list()).toEqual(["a.md"]);
    });

    test.each(["", ".hidden", "../up", "a/b", "a\0b", "x".repeat(201)])(
      "the name %j is refused",
      async (name) => {
        const { artifacts } = await run().open();
        await refused(artifacts.write(name, ""), "INVALID");
        await refused(artifacts.read(name), "INVALID");
      },
    );

    test("the log and the proof of a task are artifacts", async () => {
      const store = await run().open();
      expect(await collect(store.log("a"))).toEqual([]);
      expect(await store.proof("a")).toBeNull();
      const proof = { attempt: 1, command: "true", exit: 0, output: "" };
      await store.artifacts.write("a.log", "one\ntwo\n");
      await store.artifacts.write("a.proof.json", JSON.stringify(proof));
      expect((await collect(store.log("a"))).join("")).toBe("one\ntwo\n");
      await store.artifacts.write("a.setup.log", "ready\n");
      expect((await collect(store.log("a", { setup: true }))).join("")).toBe("ready\n");
      expect(await store.proof("a")).toEqual(proof);
    });
  });

  describe("status", () => {
    const run = useRun(make);

    test("a new run has a checkpoint, schema 0.1", async () => {
      const store = await run().open();
      expect(await store.readStatus()).toMatchObject({
        schema_version: "0.1",
        run_id: store.runId,
        checkpoint: { completed_tasks: [], next_task_id: null },
      });
    });

    test("completed_tasks lists the done tasks, and no others, once the store is closed", async () => {
      const store = await run().open({ durability: "fast" });
      for (const id of ["a", "b", "c", "r"]) {
        await store.enqueue({ id, type: "t", review: id === "r" });
      }
      await store.complete(refOf(await claimOne(store)));
      await store.fail(refOf(await claimOne(store)));
      await store.complete(refOf(await claimOne(store)));
      await store.complete(refOf(await claimOne(store)));
      await store.close();
      const other = await run().open();
      const listed = async () => (await other.readStatus())?.checkpoint.completed_tasks;
      expect(await listed()).toEqual(["a", "c"]);
      await other.approve("r");
      await other.close();
      expect(await (await run().open()).readStatus()).toMatchObject({
        checkpoint: { completed_tasks: ["a", "c", "r"] },
      });
    });

    test("a new checkpoint replaces what it gives and keeps the rest", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await store.complete(refOf(await claimOne(store)));
      await store.close();
      const other = await run().open();
      await other.writeStatus({ summary: "one", risk: "none", metadata: { a: 1, b: 1 } });
      const status = await other.writeStatus({ summary: "two", metadata: { b: 2 } });
      expect(status).toMatchObject({
        checkpoint: { summary: "two", risk: "none", completed_tasks: ["a"] },
        metadata: { a: 1, b: 2 },
      });
      expect(await other.readStatus()).toEqual(status);
    });

    test("writers in different processes do not lose each other's metadata", async () => {
      const stores = await Promise.all([run().open(), run().open(), run().open()]);
      await Promise.all(
        stores.map((store, n) => store.writeStatus({ metadata: { [`k${n}`]: n } })),
      );
      expect((await stores[0].readStatus())?.metadata).toEqual({ k0: 0, k1: 1, k2: 2 });
    });

    test("initStatus replaces the old checkpoint", async () => {
      const store = await run().open();
      await store.writeStatus({ summary: "old", metadata: { a: 1 } });
      const status = await store.initStatus("another", { next_step: "begin" });
      expect(status).toMatchObject({
        run_id: "another",
        checkpoint: { summary: "Initialized", next_step: "begin", completed_tasks: [] },
        metadata: {},
      });
    });
  });
}
