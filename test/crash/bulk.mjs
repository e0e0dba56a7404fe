// Enqueues t.0 … t.(N-1) and says how many of them were acknowledged so far:
//   bulk.mjs RUN N DURABILITY

import { writeSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [runDir, count, durability] = process.argv.slice(2);
const { openRun } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);
const store = await openRun(runDir, { durability });

function* specs() {
  for (let n = 0; n < Number(count); n++) {
    const depends_on = n % 10 === 9 ? [`t.${n - 1}`] : [];
    yield { id: `t.${n}`, type: "t", payload: { text: "x".repeat(n % 500) }, depends_on };
  }
}
await store.enqueueMany(specs(), {
  ifAbsent: true,
  // Written at once: a line in a buffer would not survive the kill.
  onProgress: ({ enqueued, existed }) =>
    writeSync(1, `${JSON.stringify({ acknowledged: enqueued + existed })}\n`),
});
await store.close();
