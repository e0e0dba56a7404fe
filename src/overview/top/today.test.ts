import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { openRun } from "../../main.ts";
import { Today } from "./today.ts";

it("counts a line that is written while the ledger of the day is read for the first time", async () => {
  const store = await openRun(join(newFolder(), "run"), { create: true, durability: "fast" });
  onTestFinished(() => store.close());
  await store.append({ event: "held", task: "a" });
  await store.append({ event: "held", task: "b" });
  let isLate = true;
  const withLate = async function* <T>(lines: AsyncIterable<T>) {
    for await (const line of lines) {
      if (isLate) await store.append({ event: "held", task: "late" });
      isLate = false;
      yield line;
    }
  };
  const heard: unknown[] = [];
  const today = new Today(
    {
      followLedger: (options) => {
        const ledger = store.followLedger(options);
        return { ...ledger, news: () => withLate(ledger.news()) };
      },
    },
    ({ task }) => void heard.push(task),
  );
  await today.look(Date.now());
  expect(heard).toEqual([]);
  await today.look(Date.now());
  expect([heard, today.eventsPerMinute]).toEqual([["late"], 3]);
});
