// What a server costs with 100,000 tasks and a hundred open streams of events; and the page's size.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { largeFolder, startServer } from "../lib/served.mjs";

const STREAMS = 100;
/** Answers about every task and line of the run. */
const WHOLE = [
  "/api/report?since=8d",
  "/metrics",
  "/api/money",
  "/api/costs",
  "/api/timeline?since=7d",
];
/** By then the heap was cleaned of what the last answers left: that took up to 17 s. */
const REST_MS = 30_000;

export default async function server(bench) {
  const large = await largeFolder(bench);
  const served = await startServer(bench, large);
  const streams = new AbortController();
  try {
    for (let n = 0; n < STREAMS; n++) {
      const { body } = await fetch(`${served.address}/events`, { signal: streams.signal });
      body.pipeTo(new WritableStream()).catch(() => {}); // it ends with the others
    }
    const ask = async (path) => {
      const begin = performance.now();
      await (await fetch(`${served.address}${path}`)).text();
      return Math.round(performance.now() - begin);
    };
    await ask("/api/cards");
    await served.isRead();
    const report = await ask("/api/report?since=12h");
    for (const path of WHOLE) await ask(path);
    const history = await ask("/api/ledger/show?limit=200");
    await delay(REST_MS);
    const tasks = `${large.size.toLocaleString("en-US")} tasks and ${STREAMS} streams`;
    const memory = { unit: "MB", judged: "ours", target: { under: 200 } };
    bench.row({ measure: `memory at rest with ${tasks}`, ...memory, ours: served.rssMb() });
    bench.row({ measure: "the most it ever had", ...memory, ours: served.peakMb() });
    bench.row({ measure: "the report of the last 12 hours", unit: "ms", ours: report });
    bench.row({ measure: "the last 200 lines of the ledger", unit: "ms", ours: history });
    const seconds = bench.quick ? 5 : 20;
    const before = served.cpuSeconds();
    await delay(seconds * 1000);
    const cpu = (100 * (served.cpuSeconds() - before)) / seconds;
    const measure = `CPU while nothing happens, ${seconds} s with ${tasks}`;
    bench.row({ measure, ours: cpu, unit: "%", judged: "ours", target: { under: 1 } });
  } finally {
    streams.abort();
    await served.stop();
  }
  const page = join(bench.dist, "web");
  const files = readdirSync(page, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => gzipSync(readFileSync(join(entry.parentPath, entry.name))).length);
  const bytes = files.reduce((sum, one) => sum + one, 0);
  const target = { atMost: 120 };
  bench.row({
    measure: "the page, gzipped",
    ours: bytes / 1000,
    unit: "kB",
    judged: "ours",
    target,
  });
}
