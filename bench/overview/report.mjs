// `viv report` over a night of 10,000 tasks with a model each, beside a process that only reads the same files.

import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { specs } from "../lib/fill.mjs";
import { median, pairedRatio, takeTurns } from "../lib/samples.mjs";

const STEPS = 5;
const FAILED_ONE_IN = 10;

export default async function report(bench) {
  const size = bench.quick ? 2_000 : 10_000;
  const folder = bench.workspace.fresh("report");
  mkdirSync(folder);
  await night(bench, join(folder, "run"), size);
  // With a budget the whole ledger is added up twice: for the period, and for the budget.
  writeFileSync(join(folder, "viv.toml"), 'run = "run"\n[budget]\nday = { usd = 500.00 }\n');
  bench.workspace.settle();
  const bare = fileURLToPath(new URL("../child/read-run-bare.mjs", import.meta.url));
  const env = { ...process.env, VIV_STATE: join(folder, "state"), VIV_RUN: "" };
  const timed = (args, wanted) => {
    const begin = performance.now();
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      ...{ cwd: folder, env, encoding: "utf8" },
    });
    const took = performance.now() - begin;
    if (status !== 0 || !stdout.includes(wanted)) throw new Error(`${args[0]}: ${stdout}${stderr}`);
    return Math.round(took);
  };
  const done = size - size / FAILED_ONE_IN;
  const { ours, peer } = await takeTurns(
    {
      ours: () =>
        timed(
          [...bench.execArgv, join(bench.dist, "viv.cjs"), "report", "--json"],
          `"count":${done},`,
        ),
      peer: () => timed([bare, join(folder, "run")], `${size} tasks`),
    },
    bench.quick ? 5 : 11,
  );
  const tasks = `${size.toLocaleString("en-US")} tasks`;
  const row = { ours: median(ours), peer: median(peer), unit: "ms", samples: { ours, peer } };
  const measure = `viv report over ${tasks}`;
  bench.row({ measure, ...row, judged: "ours", target: { under: 2_000 } });
  const ratio = pairedRatio(ours, peer);
  bench.row({
    measure: `${measure}, beside reading its files`,
    ...row,
    ratio,
    target: { atMost: 5 },
  });
}

/** Each task with its proof, the steps of a model and its usage; one in ten fails. */
async function night(bench, path, size) {
  const store = await bench.openRun(path, { create: true, durability: "fast" });
  await store.enqueueMany(specs(size));
  let number = 0;
  for (;;) {
    const claims = await store.claim({ worker: `w${number % 4}`, max: 50 });
    if (claims.length === 0) break;
    for (const claim of claims) await attempt(store, claim, ++number);
  }
  await store.close();
}

const used = { input: 1000, output: 10, cache_read: 0, cache_write: 0 };
const priced = { model: "opus", usd: 0.001, source: "reported" };

async function attempt(store, { id, type, worker, token, attempt }, number) {
  const of = { task: id, type, worker, token, attempt };
  for (let step = 0; step < STEPS; step++) {
    const action = { kind: "tool", tool: "Edit", target: "a.ts" };
    await store.append({ event: "step", ...of, ...action, ...priced, tokens: used });
  }
  const models = [{ ...used, ...priced, usd: 0.005 }];
  await store.append({ event: "usage", ...of, engine: "claude", models, usd: 0.005, tokens: 5050 });
  const ref = { id, worker, token };
  if (number % FAILED_ONE_IN === 0) {
    const note = `exit 1: npm ERR! number ${number}`;
    await store.fail(ref, { note, fingerprint: "failed: exit 1: npm ERR!", final: true });
    return;
  }
  const proof = {
    attempt,
    command: "true",
    exit: 0,
    signal: null,
    timed_out: false,
    duration_ms: 5,
  };
  const at = new Date().toISOString();
  const text = JSON.stringify({ ...proof, at, output: "", dropped: 0 });
  await store.artifacts.write(`${id}.proof.json`, text);
  await store.complete(ref);
}
