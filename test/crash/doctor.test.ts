import { readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { newFolder } from "../support/folders.ts";
import { Script } from "../support/processes.ts";
import { chooseSeed, seeded } from "../support/random.ts";
import { contents, places } from "../support/run-files.ts";

test("kill -9 in the middle of doctor --fix: the next one finishes the work, and nothing is lost", async () => {
  const random = seeded(chooseSeed("doctor --fix"));
  const run = join(newFolder(), "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  for (let n = 0; n < 40; n++) {
    await store.enqueue({ id: `p.${n}`, type: "t" });
    await store.enqueue({ id: `w.${n}`, type: "t", depends_on: [`p.${n}`] });
  }
  for (const { task, token } of await store.claim({ worker: "w", max: 10 })) {
    await store.complete({ id: task.task_id, worker: "w", token });
  }
  await store.close();
  const put = (path: string, text: string | Buffer) => {
    writeFileSync(join(run, path), text);
    utimesSync(join(run, path), 1, 1);
  };
  for (let n = 0; n < 10; n++) {
    put(`pending/p.${n}.json`, readFileSync(join(run, `done/p.${n}.json`))); // in two states
    put(`pending/half.${n}.json`, `{"task_id": "half.${n}"`);
    put(`failed/note.${n}.txt`, `note ${n}`);
    rmSync(join(run, `.viv/ids/p.${20 + n}.json`));
    rmSync(join(run, `.viv/dependents/p.${20 + n}`));
  }
  rmSync(join(run, ".viv/lanes"), { recursive: true });
  const status = JSON.parse(readFileSync(join(run, "status.json"), "utf8"));
  status.checkpoint.completed_tasks = ["p.39"];
  writeFileSync(join(run, "status.json"), JSON.stringify(status));

  const before = contents(run);
  let deaths = 0;
  for (let round = 0; round < 8; round++) {
    const fixer = new Script("fixer.mjs", [run, 1 + Math.floor(random() * 12)]);
    const { signal } = await fixer.ended;
    if (signal === "SIGKILL") deaths++;
    else expect(fixer.stderr).toBe("");
    const now = contents(run);
    for (const text of before) {
      const at = now.indexOf(text);
      expect(at, `still there: ${text}`).toBeGreaterThanOrEqual(0);
      now.splice(at, 1);
    }
  }
  expect(deaths).toBeGreaterThan(2);

  const last = await openRun(run, { durability: "fast" });
  await last.doctor({ fix: true });
  expect((await last.doctor()).findings).toEqual([]);
  const lies = places(run);
  for (let n = 0; n < 40; n++) {
    expect(lies.get(`p.${n}`), `p.${n}`).toEqual([{ state: n < 10 ? "done" : "pending" }]);
    expect(lies.get(`w.${n}`), `w.${n}`).toHaveLength(1);
  }
  const checkpoint = (await last.readStatus())?.checkpoint;
  expect([...(checkpoint?.completed_tasks ?? [])].sort()).toEqual(
    Array.from({ length: 10 }, (_, n) => `p.${n}`).sort(),
  );
  await last.close();
});
