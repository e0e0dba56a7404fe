// Claims one task, says so, and ends it as it is told on stdin:
//   holder.mjs RUN WORKER [register]
// Prints {"claimed":id,"token":…}, and after a line {"end":"complete"} {"ended":to} or {"refused":code}.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [runDir, worker, register] = process.argv.slice(2);
const { openRun } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const store = await openRun(runDir);
try {
  if (register) await store.register(worker);
  const [claim] = await store.claim({ worker });
  if (!claim) throw new Error("there is nothing to claim");
  const ref = { id: claim.task.task_id, worker, token: claim.token };
  say({ claimed: ref.id, token: ref.token });
  for await (const line of createInterface({ input: process.stdin })) {
    const { end } = JSON.parse(line);
    try {
      say({ ended: (await store[end](ref)).to });
    } catch (error) {
      say({ refused: error.code ?? String(error) });
    }
  }
} catch (error) {
  say({ refused: error.code ?? String(error) });
}
await store.close();
