// `viv serve` over 100,000 tasks: until the page has its counts and until all is read, a window of the
// board, a change, and memory. Plain figures: there is nothing to compare them with.

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { specs } from "../lib/fill.mjs";
import { median } from "../lib/samples.mjs";

const WINDOWS = "done:40000:40,ready:20000:40,waiting:0:40";

export default async function page(bench) {
  const size = bench.quick ? 10_000 : 100_000;
  const folder = bench.workspace.fresh("page");
  mkdirSync(folder);
  const path = join(folder, "run");
  await fill(bench, path, size);
  bench.workspace.settle();
  const began = performance.now();
  const args = [join(bench.dist, "viv.cjs"), "serve", "--run", path, "--port", "0", "--json"];
  const env = { ...process.env, VIV_STATE: join(folder, "state"), VIV_RUN: "" };
  const server = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", 2] });
  try {
    const url = await addressIn(server.stdout);
    const ask = async (query) => (await fetch(`${url}/api/cards?${query}`)).json();
    const tasks = `${size.toLocaleString("en-US")} tasks`;
    const row = (measure, ours, unit, samples = [ours]) =>
      bench.row({
        measure: `the page, ${tasks}: ${measure}`,
        ours,
        unit,
        samples: { ours: samples },
      });
    await ask("windows=ready:0:1");
    row("from the start to exact counts", Math.round(performance.now() - began), "ms");
    while ((await ask("windows=ready:0:1")).reading !== null) await pause(50);
    row("from the start until all is read", Math.round(performance.now() - began), "ms");
    row("three windows of the board", ...timed(await times(() => ask(`windows=${WINDOWS}`))));
    row(
      "a new filter",
      ...timed(await times((n) => ask(`windows=${WINDOWS}&filter=number%20-${n}`))),
    );
    row("the same filter again", ...timed(await times(() => ask("filter=number"))));
    row("from an enqueue to its count", ...timed(await changes(bench, path, ask)));
    row("memory", highest(server.pid), "MB");
  } finally {
    server.kill("SIGINT");
    await new Promise((resolve) => server.once("exit", resolve));
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const timed = (samples) => [median(samples), "ms", samples];

/** Six in ten are done, one in three waits for the one before it. */
async function fill(bench, path, size) {
  const store = await bench.openRun(path, { create: true, durability: "fast" });
  await store.enqueueMany(specs(size, "dependents"));
  for (let done = 0; done < size * 0.6; ) {
    const claims = await store.claim({ worker: `w${done % 8}`, max: 50 });
    if (claims.length === 0) await store.sweep();
    for (const claim of claims) await store.complete(claim);
    done += claims.length;
  }
  await store.close();
}

async function addressIn(output) {
  let text = "";
  for await (const part of output) {
    text += part;
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
    if (url !== undefined) return url;
  }
  throw new Error(`viv serve said no address: ${text}`);
}

async function times(act, count = 11) {
  const samples = [];
  for (let n = 0; n < count; n++) {
    const began = performance.now();
    await act(n);
    samples.push(performance.now() - began);
  }
  return samples.slice(1);
}

/** By another process's rename, seen in the next answer that has it. */
async function changes(bench, path, ask) {
  const store = await bench.openRun(path, { durability: "fast" });
  const samples = [];
  for (let n = 0; n < 20; n++) {
    const id = `new.${n}`;
    await store.enqueue({ id, type: "new" });
    const began = performance.now();
    for (;;) {
      const { counts } = await ask(`windows=ready:0:1&filter=id:${id}`);
      if (counts.ready === 1) break;
    }
    samples.push(performance.now() - began);
  }
  await store.close();
  return samples;
}

function highest(pid) {
  const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kilobytes) / 1024);
}
