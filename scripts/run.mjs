// Running the project's tools from its root.

import { spawnSync } from "node:child_process";
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

/** The path of a tool that npm installed. */
export const tool = (name) => `${root}node_modules/.bin/${name}`;

/** Ends this program with one line that says why. */
export function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
