import { join } from "node:path";
import { expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { idsIn, newFolder, readStatus, swarm } from "./company.ts";

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
