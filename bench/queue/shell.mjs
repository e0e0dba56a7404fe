// The command line in a shell loop: what a claim costs in a full queue beside nearly none, and what
// an enqueue costs beside the start of node alone.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fillOurs } from "../lib/fill.mjs";
import { median, pairedRatio, takeTurns } from "../lib/samples.mjs";

const FEW = 10;

export default async function shell(bench) {
  const size = bench.quick ? 10_000 : 100_000;
  const times = bench.quick ? 5 : 25;
  const full = await fillOurs(bench, size);
  const small = await fillOurs(bench, FEW);
  const target = await fillOurs(bench, FEW);
  bench.workspace.settle();
  const viv = commandOf(bench);
  const refill = await bench.openRun(small, { durability: "fast" });
  const samples = await takeTurns(
    {
      full: () => timed(viv("claim", full)),
      small: async () => {
        const took = timed(viv("claim", small));
        await refill.enqueue({ type: "common" }); // so that there are always ten
        return took;
      },
      enqueue: () => timed(viv("enqueue", target)),
      node: () => timed(["-e", "0"]),
    },
    times,
  );
  await refill.close();
  const note = existsSync(join(bench.dist, "viv.cjs")) ? "viv" : "script for viv";
  const row = (measure, ours, peer) =>
    bench.row({
      measure,
      ours: median(ours),
      peer: median(peer),
      unit: "ms",
      ratio: pairedRatio(ours, peer),
      target: { atMost: 1.6 },
      samples: { ours, peer },
    });
  const among = `${size.toLocaleString("en-US")} pending beside ${FEW}`;
  row(`shell: ${note} claim, ${among}`, samples.full, samples.small);
  row(`shell: ${note} enqueue beside node -e 0`, samples.enqueue, samples.node);
}

function commandOf(bench) {
  const program = join(bench.dist, "viv.cjs");
  if (existsSync(program)) {
    const rest = { claim: ["--worker", "w0"], enqueue: ["--type", "common"] };
    return (verb, run) => [program, verb, "--run", run, ...rest[verb]];
  }
  const substitute = fileURLToPath(new URL("../child/one-shot.mjs", import.meta.url));
  return (verb, run) => [substitute, bench.library, verb, run];
}

function timed(args) {
  const begin = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const took = performance.now() - begin;
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}: ${stderr}`);
  return Math.round(took * 100) / 100;
}
