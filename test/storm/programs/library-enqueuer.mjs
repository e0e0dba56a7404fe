// An enqueuer that uses the library: VIV_DIST=… node library-enqueuer.mjs RUN '[[spec, …], …]'
// A list of one is enqueued by itself, a longer one in bulk. One JSON line for each answer, on stdout.

import { writeSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { openRun } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);
const [runDir, text] = process.argv.slice(2);
const say = (answer) => writeSync(1, `${JSON.stringify(answer)}\n`);

const store = await openRun(runDir, { durability: "safe" }).catch((error) => {
  console.error(`viv: ${error.message}`);
  process.exit(error.code ? 5 : 70); // none was asked for yet
});
for (const [at, specs] of JSON.parse(text).entries()) {
  try {
    if (specs.length === 1) {
      const { id, state } = await store.enqueue(specs[0]);
      say({ at, id, state });
    } else {
      say({ at, ...(await store.enqueueMany(specs, { ifAbsent: true })) });
    }
  } catch (error) {
    say({ at, error: { code: error.code ?? "?", message: error.message } });
  }
}
await store.close();
