// doctor --fix, by a process that dies after so many changes to the file system:
//   fixer.mjs RUN DIES_AFTER

import { pathToFileURL } from "node:url";
import { dieAfter } from "./fatal.mjs";

const [runDir, diesAfter] = process.argv.slice(2);
const { openRun } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);
const store = await openRun(runDir, { durability: "fast" });
dieAfter(Number(diesAfter));
await store.doctor({ fix: true });
await store.close();
