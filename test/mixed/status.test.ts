import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Claim, openRun, type Store } from "../../src/main.ts";
import { newFolder } from "../support/folders.ts";
import { idsIn, readStatus, swarm } from "./company.ts";

const numbered = (prefix: string, n: number) =>
  Array.from({ length: n }, (_, i) => `${prefix}.${String(i).padStart(3, "0")}`);

test("writers of status.json, Python's and ours, lose nothing of each other's", async () => {
  const run = join(newFolder(), "run");
  const opened = await openRun(run, { create: true, durability: "fast" });
  await opened.close();
  const theirs = [numbered("a", 80), numbered("b", 80)];
  const keys = numbered("key", 40);
  const notes = numbered("note", 40);
  const ours = numbered("mine", 60);

  const finish = async (worker: string, ids: readonly string[]) => {
    for (const id of ids) {
      // One store each: closing brings status.json up to date at once, as a one-shot command does.
      const store = await openRun(run, { durability: "fast" });
      await store.enqueue({ id, type: worker });
      const claims = await store.claim({ worker, types: [worker] });
      expect(claims.map(({ task }) => task.task_id)).toEqual([id]);
      await store.complete({ id, worker });
      await store.close();
    }
  };
  const annotate = async () => {
    const store = await openRun(run, { durability: "fast" });
    for (const key of notes) await store.writeStatus({ summary: key, metadata: { [key]: true } });
    await store.close();
  };
  await Promise.all([
    ...theirs.map((ids) => swarm(run, "append_completed", ...ids.map((id) => [id]))),
    swarm(run, "note_metadata", ...keys.map((key) => [key])),
    finish("viv.1", ours),
    annotate(),
  ]);

  const { checkpoint, metadata } = readStatus(run);
  expect([...checkpoint.completed_tasks].sort()).toEqual([...theirs.flat(), ...ours].sort());
  expect(Object.keys(metadata).sort()).toEqual([...keys, ...notes].sort());
  expect(checkpoint.summary).toBe(notes.at(-1));
  expect(idsIn(run, "done")).toEqual(ours);
});

/** What a worker leaves that dies between recording the end of an attempt and moving the task. */
function recordEnd(run: string, claim: Claim): void {
  const { task, worker, token, attempt } = claim;
  const at = new Date().toISOString();
  const end = { event: "ended", outcome: "done", from: "claimed", to: "done" };
  const line = { at, ...end, task: task.task_id, worker, token, attempt };
  appendFileSync(join(run, `ledger/${at.slice(0, 10)}.jsonl`), `${JSON.stringify(line)}\n`);
}

type Publish = (run: string, store: Store) => Promise<unknown>;

const PUBLISHERS: Record<string, Publish> = {
  "of ours": (_, store) => store.enqueue({ id: "t.1", type: "work" }),
  "of swarm-lib's": (run) => swarm(run, "enqueue", ["t.1"]),
  "of swarm-lib's that had to wait": async (run, store) => {
    await swarm(run, "enqueue", ["t.1", ["t.0"]]);
    expect(await store.claim({ worker: "crashed" })).toEqual([]);
    await swarm(run, "append_completed", ["t.0"]);
    await store.sweep();
  },
};

for (const [which, publish] of Object.entries(PUBLISHERS)) {
  test(`a completion that a crash cut short is listed in the end: a task ${which}`, async () => {
    const run = join(newFolder(), "run");
    const store = await openRun(run, { create: true, durability: "fast" });
    await publish(run, store);
    const [claim] = await store.claim({ worker: "crashed" });
    recordEnd(run, claim as Claim);

    // Somebody else carries the ledger over into status.json while t.1 is not done yet.
    const other = await openRun(run, { durability: "fast" });
    await other.enqueue({ id: "t.2", type: "work" });
    await other.claim({ worker: "other" });
    await other.complete({ id: "t.2", worker: "other" });
    await other.close();
    expect(readStatus(run).checkpoint.completed_tasks).not.toContain("t.1");

    const { reaped } = await store.reap({ staleAfterSeconds: 0 });
    expect(reaped).toMatchObject([{ id: "t.1", to: "done", reason: "finished" }]);
    await store.close();
    expect(readStatus(run).checkpoint.completed_tasks).toContain("t.1");
  });
}
