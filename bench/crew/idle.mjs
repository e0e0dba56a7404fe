// A thousand standing agents that have nothing to do: what that costs, and how punctual they are.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { percentile } from "../lib/samples.mjs";

const source = fileURLToPath(new URL("../child/crew.ts", import.meta.url));
const MEMBERS = 1_000;

export default async function idle(bench) {
  const folder = bench.workspace.fresh("crew");
  mkdirSync(folder);
  const file = join(folder, "crew.mjs");
  const bundle = await rolldown({ input: source, platform: "node", logLevel: "silent" });
  await bundle.write({ file, format: "esm" });
  const seconds = bench.quick ? 20 : 60;
  const config = { folder, members: MEMBERS, warmUpMs: 5_000, measuredMs: seconds * 1000 };
  const child = fork(file, [JSON.stringify(config)], { execArgv: bench.execArgv });
  const [found] = await once(child, "message");
  await once(child, "exit");
  const common = { judged: "ours" };
  const crew = `crew: ${MEMBERS} members, one tick a minute each`;
  bench.row({
    ...common,
    measure: `${crew}: CPU in ${seconds} s (${found.ticks} ticks)`,
    ...{ ours: found.percent, unit: "%", target: { under: 3 } },
  });
  bench.row({
    ...common,
    measure: `${crew}: memory, peak`,
    ...{ ours: found.peakMb, unit: "MB", target: { under: 200 } },
  });
  bench.row({
    ...common,
    measure: `${crew}: ticks within 50 ms of their time`,
    ...{ ours: found.inTime, unit: "%", target: { atLeast: 99 } },
  });
  bench.row({
    measure: `${crew}: a tick is late by, p50`,
    ...{ ours: percentile(found.late, 50), unit: "ms" },
  });
  bench.row({
    measure: `${crew}: a tick is late by, p99`,
    ...{ ours: percentile(found.late, 99), unit: "ms" },
  });
}
