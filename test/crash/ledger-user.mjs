// A process that uses the ledger of a run, on a clock that is given:
//   ledger-user.mjs write RUN NAME COUNT   adds lines of the days before and after midnight, in turns
//   ledger-user.mjs seal RUN [hold]        seals what is over; with hold it stays in the middle
// Prints {"wrote":n} for each line, {"closing":true} when days are being closed, {"sealed":[days]}.

import { pathToFileURL } from "node:url";

const [what, path, name, count] = process.argv.slice(2);
const { openRun, sealDays } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const MIDNIGHT = Date.parse("2026-11-18T00:00:00Z");

if (what === "seal") {
  const hold = name === "hold";
  const sleep = (ms) => {
    say({ closing: true });
    return new Promise((resolve) => {
      if (hold) setInterval(() => {}, 1_000);
      else setTimeout(() => resolve(true), ms);
    });
  };
  say({ sealed: await sealDays(`${path}/ledger`, { now: () => MIDNIGHT + 3_600_000, sleep }) });
} else {
  let at = MIDNIGHT;
  const clock = { now: () => at, uptime: () => performance.now() / 1000 };
  const machine = {
    clock,
    self: () => ({ host: "h", boot: "b", pid: process.pid, started: "1" }),
    vitality: () => "alive",
    bootId: () => "b",
  };
  const store = await openRun(path, { machine, durability: "fast" });
  for (let n = 0; n < Number(count); n++) {
    // Most lines are late by hours: their day is over, and maybe sealed, and its file is open here.
    at = n % 50 < 45 ? MIDNIGHT - 7_200_000 : MIDNIGHT + 3_600_000;
    await store.append({ event: "usage", task: `${name}.${n}`, usd: 1 });
    say({ wrote: n });
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await store.close();
}
