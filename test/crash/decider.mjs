// One of several that do the same thing at the same moment:
//   decider.mjs RUN reap|retry|approve|cancel IDS…
// Says "ready", waits for a line, acts on each id, and ignores that others were first.

import { once } from "node:events";
import { pathToFileURL } from "node:url";

const [runDir, what, count] = process.argv.slice(2);
const { openRun, isVivError } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);
const store = await openRun(runDir, { durability: "fast" });
console.log(JSON.stringify({ ready: true }));
await once(process.stdin, "data");
if (what === "reap") await store.reap({ staleAfterSeconds: 0 });
else {
  for (let n = 0; n < Number(count); n++) {
    try {
      await store[what](`t.${n}`);
    } catch (error) {
      if (!isVivError(error, "WRONG_STATE")) throw error;
    }
  }
}
await store.close();
process.stdin.destroy();
