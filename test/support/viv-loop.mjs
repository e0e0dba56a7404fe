import { readSync, writeSync } from "node:fs";
import { createRequire } from "node:module";

/**
 * `viv`, one command after the other in one process: each is the program dist/viv.cjs as it is,
 * and is over when nothing is left that keeps a process alive. It only saves node's start. A command comes
 * as a line of JSON on descriptor 3, its end goes out on 4. A crash and `process.exit` end this process too.
 */

const require = createRequire(import.meta.url);
const viv = require.resolve("../../dist/viv.cjs");
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
const said = [];
let isRunning = false;

for (const stream of [process.stdout, process.stderr]) {
  stream.write = (chunk) => {
    said.push(Buffer.from(chunk));
    return true;
  };
}

/** Blocks: between two commands there is nothing else to do. Null when the test has ended. */
function nextCommand() {
  const byte = Buffer.alloc(1);
  const line = [];
  while (readSync(3, byte) === 1) {
    if (byte[0] === 10) return JSON.parse(Buffer.from(line).toString());
    line.push(byte[0]);
  }
  return null;
}

function tellEnd() {
  const text = Buffer.concat(said.splice(0)).toString();
  const answer = { status: process.exitCode ?? 0, text };
  const bytes = Buffer.from(`${JSON.stringify(answer)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(4, bytes, at);
}

/** Nothing of the command before is left, as in a new process. */
function begin({ args, cwd, env }) {
  for (const name of SIGNALS) process.removeAllListeners(name);
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners("error");
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  process.exitCode = undefined;
  process.argv = [process.execPath, viv, ...args];
  delete require.cache[viv];
  require(viv);
}

process.on("beforeExit", () => {
  if (isRunning) tellEnd();
  const command = nextCommand();
  isRunning = command !== null;
  if (command !== null) begin(command);
});
