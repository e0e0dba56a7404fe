// From the one that leaves to the next in line: in memory, 10,000 of them, beside a bare line of
// promises; and at the machine's gate, where each is two locks, beside two flock(1) as children.

import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { percentile } from "../lib/samples.mjs";

const source = fileURLToPath(new URL("../../src/gate/gate.ts", import.meta.url));
const HANDOFFS = 10_000;
const FLOCK = "flock";

export default async function handoff(bench) {
  const folder = bench.workspace.fresh("gate");
  mkdirSync(folder);
  await inMemory(bench, join(folder, "gate.mjs"));
  await onMachine(bench, folder);
}

async function inMemory(bench, file) {
  await (await rolldown({ input: source, logLevel: "silent" })).write({ file });
  const { gateInMemory } = await import(file);
  const clock = { now: Date.now, uptime: () => performance.now() / 1000 };
  const ours = [];
  const peer = [];
  for (let round = 0; round < (bench.quick ? 3 : 6); round++) {
    const gate = gateInMemory({ max: 3, clock });
    ours.push(await through((name) => gate.acquire({ name })));
    peer.push(await through(bareLine(3)));
  }
  const warm = { ours: ours.slice(1), peer: peer.slice(1) };
  bench.row({
    measure: "gate: 10,000 hand-offs in memory, in order",
    ours: percentile(warm.ours, 50),
    peer: percentile(warm.peer, 50),
    unit: "ms",
    judged: "ours",
    target: { under: 1_000 },
    samples: warm,
  });
}

/** Milliseconds for all of them to have been in, one after the other; an error if not in order. */
async function through(acquire) {
  let last = -1;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: HANDOFFS }, async (_, n) => {
      const release = await acquire(`${n}`);
      if (n !== last + 1) throw new Error(`${n} came after ${last}`);
      last = n;
      await null;
      release();
    }),
  );
  return performance.now() - begin;
}

/** The least that a line can be. */
function bareLine(max) {
  const waiting = [];
  let next = 0;
  let inside = 0;
  const release = () => {
    if (next < waiting.length) waiting[next++](release);
    else inside--;
  };
  return () => {
    if (inside < max) {
      inside++;
      return Promise.resolve(release);
    }
    return new Promise((resolve) => waiting.push(resolve));
  };
}

async function onMachine(bench, folder) {
  const { gateHere } = await import(bench.library);
  const { machine } = await gateHere({ VIV_STATE: folder }, "/");
  const ours = [];
  const peer = [];
  const free = [];
  for (let n = 0; n < (bench.quick ? 50 : 300); n++) {
    const before = performance.now();
    await machine.acquire({ name: "nobody waits for anything" });
    free.push((performance.now() - before) * 1000);
  }
  machine.setMax(1);
  for (let n = 0; n < (bench.quick ? 50 : 300); n++) {
    let begin = performance.now();
    (await machine.acquire({ name: "bench" }))();
    ours.push(performance.now() - begin);
    begin = performance.now();
    for (const _ of [1, 2]) lockOnce(join(folder, "bare.lock"));
    peer.push(performance.now() - begin);
  }
  bench.row({
    measure: "gate: the machine's, in and out again, p50",
    ours: percentile(ours, 50),
    peer: percentile(peer, 50),
    unit: "ms",
    judged: "ours",
    target: { under: 30 },
    samples: { ours, peer },
  });
  bench.row({
    measure: "gate: the machine's without a maximum, p50",
    ours: percentile(free, 50),
    unit: "µs",
    judged: "ours",
    target: { under: 1_000 },
    samples: { ours: free },
  });
}

function lockOnce(path) {
  const fd = openSync(path, "a");
  spawnSync(FLOCK, ["-x", "3"], { stdio: ["ignore", "ignore", "ignore", fd] });
  closeSync(fd);
}
