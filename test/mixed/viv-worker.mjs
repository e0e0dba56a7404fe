// One of our workers, as a process of its own, on the built library. Like swarm_ref.py's `work`:
//   viv-worker.mjs RUN_DIR WORKER LOG UNTIL READY GO

import { appendFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [runDir, worker, log, until, ready, go] = process.argv.slice(2);
const { openRun } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);

const store = await openRun(runDir);
await store.register(worker);
writeFileSync(ready, "");
while (!existsSync(go)) await pause(5);

const countDone = () => readdirSync(`${runDir}/done`).filter((n) => n.endsWith(".json")).length;
while (countDone() < Number(until)) {
  const [claim] = await store.claim({ worker });
  if (!claim) {
    // Short, because another worker may make the last completion while this one waits.
    await store.waitForWork({ timeoutMs: 100 });
    continue;
  }
  appendFileSync(log, `${worker} ${claim.task.task_id}\n`);
  await store.complete({ id: claim.task.task_id, worker, token: claim.token });
}
await store.close();
