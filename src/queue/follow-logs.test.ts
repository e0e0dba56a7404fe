import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { openRun } from "../main.ts";
import { followLogs, type LogNews } from "./follow-logs.ts";
import type { TaskSummary } from "./store.ts";

it("says that no such worker is known, with those that are", async () => {
  const store = await openRun(join(newFolder(), "run"), { create: true });
  onTestFinished(() => store.close());
  const first = async (worker?: string) => {
    const stop = new AbortController();
    for await (const news of followLogs(store, { worker }, stop.signal)) {
      stop.abort();
      return news;
    }
  };
  expect(await first("nope")).toEqual({
    event: "idle",
    note: "no worker nope is known in this run; there is none yet",
  });
  const registration = await store.register("w");
  expect(await first("nope")).toMatchObject({ note: expect.stringMatching(/; there are: w$/) });
  expect(await first("w")).toEqual({ event: "idle" });
  expect(await first()).toEqual({ event: "idle" });
  await registration.release();
});

it("shows an attempt once, also while its claim is still listed after its end", async () => {
  const run = join(newFolder(), "run");
  const store = await openRun(run, { create: true });
  onTestFinished(() => store.close());
  const begin = async (id: string) => {
    await store.enqueue({ type: "t", id });
    const [claim] = await store.claim({ worker: "w" });
    if (claim === undefined) throw new Error("nothing to claim");
    appendFileSync(join(run, `artifacts/${id}.log`), `hello from ${id}\n`);
    return claim;
  };
  const first = await begin("a");
  const stale: TaskSummary[] = [];
  for await (const one of store.list({ states: ["claimed"] })) stale.push(one);
  const list = store.list.bind(store);
  let looks = 0;
  const stop = new AbortController();
  const seen: LogNews[] = [];
  for await (const news of followLogs(store, {}, stop.signal)) {
    seen.push(news);
    const { event } = news;
    if (event === "line" && news.id === "a" && looks === 0) {
      store.list = async function* (query) {
        if (++looks <= 3) yield* stale;
        else yield* list(query);
        if (looks === 4) await begin("b");
      };
      await store.complete(first);
    }
    if (event === "line" && news.id === "b") stop.abort();
  }
  expect(seen.map((one) => `${one.event} ${"id" in one ? one.id : ""}`)).toEqual([
    ...["began a", "line a", "ended a", "began b", "line b"],
  ]);
});
