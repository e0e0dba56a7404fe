// Tosses COUNT foods one after the other, as soon as a line comes on stdin:
//   tosser.mjs PIT NAME COUNT
// Prints a line for each: its id.

import { once } from "node:events";
import { pathToFileURL } from "node:url";

const [dir, name, count] = process.argv.slice(2);
const { openRun } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);
const store = await openRun(dir);
process.stdout.write("ready\n");
await once(process.stdin, "data");
for (let n = 0; n < Number(count); n++) {
  const payload = { task: `${name} number ${n}` };
  const { id } = await store.enqueue({ type: "food", payload, created_by: name });
  process.stdout.write(`${id}\n`);
}
await store.close();
process.exit(0);
