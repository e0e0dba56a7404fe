// A registered worker that drains a run until its stdin ends:
//   claimer.mjs RUN WORKER SEED DIES_AFTER
// Prints {"ready":true} and one line for each completion that it was told has counted. After
// DIES_AFTER changes to the file system (0: never) it kills itself with SIGKILL, so that deaths
// fall between the steps of a transition far more often than a killer outside could manage.

import { writeSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { dieAfter } from "./fatal.mjs";

const [runDir, worker, seed, diesAfter] = process.argv.slice(2);
const print = writeSync; // as it is now: what we say is no change to the run
const say = (line) => print(1, `${JSON.stringify(line)}\n`);
const { openRun } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);

const store = await openRun(runDir, { durability: "fast" });
await store.register(worker);
say({ ready: true });
dieAfter(Number(diesAfter));

let stop = false;
process.stdin.on("data", () => {});
process.stdin.on("end", () => {
  stop = true;
});
let random = Number(seed);
const dice = (sides) => {
  random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
  return Math.floor((random / 2 ** 32) * sides);
};
while (!stop) {
  const claims = await store.claim({ worker, max: 1 + dice(4) });
  // The work: a while in which the claims are held.
  if (claims.length > 0) await new Promise((resolve) => setTimeout(resolve, dice(30)));
  for (const { task, token } of claims) {
    await store.complete({ id: task.task_id, worker, token });
    say({ done: task.task_id });
  }
  if (claims.length === 0) await store.waitForWork({ timeoutMs: 200 });
}
await store.close();
process.exit(0);
