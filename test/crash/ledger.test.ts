import { join } from "node:path";
import { expect, test } from "vitest";
import { verifyLedger } from "../../src/ledger/verify.ts";
import { openRun } from "../../src/main.ts";
import { onDisk } from "../support/folders.ts";
import { Script } from "../support/processes.ts";

/** Days of a ledger are closed and sealed by several processes while others write, and some are killed. */
test("every line once, whatever seals and dies meanwhile", async () => {
  const path = join(onDisk(), "run");
  const store = await openRun(path, { create: true, durability: "fast" });
  const seen: string[] = [];
  const news = store.followLedger({ from: "end" });
  const look = async () => {
    for await (const { line } of news.news()) if (line.task !== undefined) seen.push(line.task);
  };
  const writers = ["a", "b"].map(
    (name) => new Script("ledger-user.mjs", ["write", path, name, 600]),
  );
  await Promise.all(writers.map((one) => one.says("wrote", ({ wrote }) => wrote === 20)));
  // One is killed while it closes the day, with writers at work.
  const killed = new Script("ledger-user.mjs", ["seal", path, "hold"]);
  await killed.says("closes", ({ closing }) => closing === true);
  await look();
  killed.signal("SIGKILL");
  await killed.ended;
  expect(verifyLedger(`${path}/ledger`).problems).toEqual([]);
  // A writer is stopped until all is sealed, with the file of the day open.
  writers[0]?.signal("SIGSTOP");
  const sealers = [1, 2].map(() => new Script("ledger-user.mjs", ["seal", path]));
  await Promise.all(sealers.map((one) => one.success()));
  const sealed = sealers.flatMap(({ said }) => said.flatMap((line) => line.sealed ?? []));
  expect(sealed).toEqual(["2026-11-17"]);
  await look();
  writers[0]?.signal("SIGCONT");
  await Promise.all(writers.map((one) => one.success()));
  await look();
  await store.close();
  const all = ["a", "b"].flatMap((name) => Array.from({ length: 600 }, (_, n) => `${name}.${n}`));
  expect(seen.sort()).toEqual(all.sort());
  expect(verifyLedger(`${path}/ledger`)).toMatchObject({ problems: [], sealed: 1 });
});
