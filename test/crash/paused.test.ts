import { join } from "node:path";
import { expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { onDisk } from "../support/folders.ts";
import { Script } from "../support/processes.ts";
import { countedCompletions, places } from "../support/run-files.ts";

const isClaim = (line: Record<string, unknown>) => "claimed" in line;
const isAnswer = (line: Record<string, unknown>) => "ended" in line || "refused" in line;

async function newRun() {
  const run = join(onDisk(), "run");
  const store = await openRun(run, { create: true });
  await store.enqueue({ id: "a", type: "t" });
  return { run, store };
}

test.each(["complete", "fail", "release"])(
  "stopped while it holds a claim, reaped, its name and task taken by another process: its %s is refused",
  async (end) => {
    const { run, store } = await newRun();
    const sleeper = new Script("holder.mjs", [run, "w"]);
    const { token } = await sleeper.says("the sleeper claims", isClaim);
    sleeper.signal("SIGSTOP");
    expect((await store.reap({ staleAfterSeconds: 0 })).reaped).toMatchObject([
      { id: "a", worker: "w", to: "pending" },
    ]);
    const successor = new Script("holder.mjs", [run, "w"]);
    const claim = await successor.says("the successor claims", isClaim);
    expect(claim).toMatchObject({ claimed: "a" });
    expect(claim.token).not.toBe(token);

    sleeper.tell({ end });
    sleeper.signal("SIGCONT");
    const answer = await sleeper.says("the sleeper is answered", isAnswer);
    expect(answer).toEqual({ refused: "CLAIM_LOST" });
    expect(places(run).get("a")).toEqual([{ state: "claimed", worker: "w" }]);

    successor.tell({ end: "complete" });
    expect(await successor.says("the successor is answered", isAnswer)).toEqual({ ended: "done" });
    for (const script of [sleeper, successor]) {
      script.child.stdin?.end();
      await script.success();
    }
    expect(countedCompletions(run)).toEqual(new Map([["a", 1]]));
    expect(await store.attemptsOf("a")).toMatchObject([
      { attempt: 1, outcome: "abandoned" },
      { attempt: 2, outcome: "done", token: claim.token },
    ]);
    await store.close();
  },
);

test("a registered worker that is stopped keeps its name, until it is killed", async () => {
  const { run, store } = await newRun();
  await store.enqueue({ id: "b", type: "t" });
  const sleeper = new Script("holder.mjs", [run, "w", "register"]);
  await sleeper.says("the sleeper claims", isClaim);
  sleeper.signal("SIGSTOP");
  const refused = new Script("holder.mjs", [run, "w", "register"]);
  expect(await refused.says("it is answered", isAnswer)).toEqual({ refused: "WORKER_TAKEN" });
  expect(await store.reap()).toMatchObject({ reaped: [], live: ["w"] });

  sleeper.signal("SIGKILL");
  await sleeper.ended;
  expect((await store.reap()).reaped).toMatchObject([{ worker: "w", reason: "gone" }]);
  const successor = new Script("holder.mjs", [run, "w", "register"]);
  await successor.says("the successor claims", isClaim);
  await store.close();
});
