// Claims one task after the other, each when told to, and says when its file was renamed and how many
// are claimed by then. Arguments: the library, the run, how many, the least ms between two.

import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const [, , library, path, count, pause] = process.argv;
const { openRun } = await import(library);
const store = await openRun(path, { durability: "fast" });
let { claimed } = await store.counts();
const told = createInterface(process.stdin)[Symbol.asyncIterator]();
for (let n = 0; n < Number(count); n++) {
  // Not in step with anything of the server.
  await delay(Number(pause) * (1 + Math.random()));
  await store.claim({ worker: "bench", max: 1 });
  const at = Date.now();
  console.log(JSON.stringify({ at, working: ++claimed }));
  await told.next();
}
await store.close();
process.exit();
