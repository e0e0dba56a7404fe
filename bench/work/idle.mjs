// What a worker uses that has nothing to do, and what it holds while 32 handlers run.

import { setTimeout as sleep } from "node:timers/promises";
import { fillOurs } from "../lib/fill.mjs";
import { cpuMs, memoryMb, startWorker } from "../lib/work.mjs";

const HANDLERS = 32;

export default async function idle(bench) {
  await idleCpu(bench, bench.quick ? 5 : 60);
  await memoryOfMany(bench);
}

async function idleCpu(bench, seconds) {
  const worker = startWorker(bench, await fillOurs(bench, 0), ["--handler", "/bin/true"]);
  await worker.said("started");
  await sleep(2_000); // what it still has to load
  const before = cpuMs(worker.pid);
  const begin = performance.now();
  await sleep(seconds * 1000);
  const percent = (100 * (cpuMs(worker.pid) - before)) / (performance.now() - begin);
  await worker.stop();
  bench.row({
    measure: `work: CPU of an idle worker in ${seconds} s`,
    ours: percent,
    unit: "%",
    judged: "ours",
    target: { under: 0.5 },
  });
}

async function memoryOfMany(bench) {
  const run = await fillOurs(bench, HANDLERS);
  const flags = ["--concurrency", String(HANDLERS), "--max-tasks", String(HANDLERS)];
  // Each prints 4 MB: the rest of what a log may hold is kept in memory.
  const handler = new URL("../child/chatty.sh", import.meta.url).pathname;
  const worker = startWorker(bench, run, ["--handler", handler, ...flags]);
  let peak = 0;
  let isOver = false;
  void worker.said("finished").then(() => {
    isOver = true;
  });
  while (!isOver) {
    try {
      peak = Math.max(peak, memoryMb(worker.pid, "VmHWM"));
    } catch {
      break; // it has just ended
    }
    await sleep(20);
  }
  await worker.exited;
  bench.row({
    measure: `work: memory with ${HANDLERS} handlers at a time, peak`,
    ours: peak,
    unit: "MB",
    judged: "ours",
    target: { under: 120 },
  });
}
