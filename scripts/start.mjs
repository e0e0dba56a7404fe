// `npm start`: sets up what is missing, then runs the demo fleet.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "./run.mjs";
import { ensureBuilt, ensureInstalled } from "./setup.mjs";

ensureInstalled();
ensureBuilt();

const args = [join(root, "dist/viv.cjs"), "demo", ...process.argv.slice(2)];
const child = spawn(process.execPath, args, { stdio: "inherit" });

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    // A terminal sends Ctrl-C to the child as well; a second one would mean "now, at once".
    if (signal === "SIGINT" && process.stdin.isTTY) return;
    child.kill(signal);
  });
}

child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
