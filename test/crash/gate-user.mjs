// Goes through the machine's gate again and again:
//   gate-user.mjs STATE NAME TIMES LOG [hold]
// Writes "begin NAME PID" to LOG each time it is in, and "end NAME PID" before it leaves; with hold
// it stays in. Prints {"asks":n}, {"in":n} and at the end {"done":true}.

import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [state, name, times, log, hold] = process.argv.slice(2);
const { gateHere } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const { machine } = await gateHere({ VIV_STATE: state }, "/");
for (let n = 0; n < Number(times); n++) {
  say({ asks: n });
  const release = await machine.acquire({ name });
  try {
    appendFileSync(log, `begin ${name} ${process.pid}\n`);
    say({ in: n });
    if (hold) await new Promise(() => setInterval(() => {}, 60_000));
    await sleep(3 * (n % 4)); // long enough for others to be in at the same time
    appendFileSync(log, `end ${name} ${process.pid}\n`);
  } finally {
    release();
  }
}
say({ done: true });
