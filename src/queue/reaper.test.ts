import { rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { openRun } from "../main.ts";
import { localMachine } from "../platform/processes/machine.ts";
import { Reaper } from "./reaper.ts";

/** A living worker that holds a claim, and has not beaten for ten minutes. */
async function silent() {
  const home = newFolder();
  const store = await openRun(join(home, "run"), { create: true, durability: "fast" });
  onTestFinished(async () => {
    await store.close();
    rmSync(home, { recursive: true, force: true });
  });
  const registration = await store.register("w1");
  onTestFinished(() => registration.release());
  await store.enqueue({ id: "t.1", type: "t" });
  await store.claim({ worker: "w1" });
  const longAgo = Date.now() / 1000 - 600;
  utimesSync(join(home, "run/claimed/w1/.heartbeat"), longAgo, longAgo);
  return store;
}

test("a worker without heartbeats counts as dead", async () => {
  const store = await silent();
  const { reaped } = await new Reaper(store).runOnce();
  expect(reaped).toMatchObject([{ id: "t.1", reason: "stale" }]);
});

test("but not after a failed heartbeat of our own: the disk may have failed for all workers", async () => {
  const store = await silent();
  const reaper = new Reaper(store);
  let isReadOnly = false;
  const local = localMachine();
  const bootId = () => {
    if (isReadOnly) throw new Error("EROFS: read-only file system");
    return local.bootId();
  };
  const broken = await openRun(store.location, { machine: { ...local, bootId } });
  onTestFinished(() => broken.close());
  const keepsRunning = setInterval(() => {}, 1_000); // heartbeats keep no process alive
  await new Promise<void>((resolve) => {
    const onMissedBeat = () => {
      reaper.doubt();
      resolve();
    };
    void broken.register("w2", { heartbeatMs: 1, onMissedBeat }).then(() => {
      isReadOnly = true;
    });
  });
  isReadOnly = false;
  clearInterval(keepsRunning);
  expect(await reaper.runOnce()).toMatchObject({ reaped: [], live: ["w1"] });
  expect((await store.show("t.1"))?.state).toBe("claimed");
});
