// Running the project's tools from its root.

import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs a command to its end with our own input and output; returns its exit status. */
export function run(command, args, options = {}) {
  const { status, signal, error } = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    ...options,
  });
  if (error) throw new Error(`cannot run ${command}: ${error.message}`, { cause: error });
  return signal ? 1 : status;
}

/** The same, while what has been started before goes on. */
export function runBeside(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: "inherit" });
    child.on("error", (error) =>
      reject(new Error(`cannot run ${command}: ${error.message}`, { cause: error })),
    );
    child.on("close", (status) => resolve(status ?? 1));
  });
}

/** Runs a command without input; resolves with its exit status and all that it said. */
export function runQuietly(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        said += text;
      });
    }
    child.on("error", (error) =>
      resolve({ status: 1, said: `cannot run ${command}: ${error.message}\n` }),
    );
    child.on("close", (status) => resolve({ status: status ?? 1, said }));
  });
}

/** The path of a tool that npm installed. */
export const tool = (name) => `${root}node_modules/.bin/${name}`;

/** Ends this program with one line that says why. */
export function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
