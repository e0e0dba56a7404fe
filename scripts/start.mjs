// `npm start`: sets up what is missing, then runs the demo fleet.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
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

// npm that is killed says nothing to what it has started: then the demo ends as well.
const began = parents();
setInterval(() => {
  if (parents() !== began) child.kill("SIGTERM");
}, 1000).unref();

/** Of this process, and, where npm started it through a shell, of that. */
function parents() {
  const above = process.env.npm_lifecycle_event === undefined ? "" : parentOf(process.ppid);
  return `${process.ppid} ${above}`;
}

function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
  } catch {
    return ""; // no /proc here (macOS)
  }
}
