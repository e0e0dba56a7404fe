// Lets this process kill itself with SIGKILL just before its n-th change to the file system.

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const CHANGES = [
  "renameSync",
  "linkSync",
  "unlinkSync",
  "writeSync",
  "appendFileSync",
  "mkdirSync",
];

/** After `n` changes; 0 means never. Call it before the library that is to die is loaded. */
export function dieAfter(n) {
  if (n <= 0) return;
  let left = n;
  for (const name of CHANGES) {
    const original = fs[name];
    fs[name] = (...args) => {
      if (--left <= 0) process.kill(process.pid, "SIGKILL");
      return original(...args);
    };
  }
  syncBuiltinESMExports();
}
