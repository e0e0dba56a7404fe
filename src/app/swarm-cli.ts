/** `swarm-cli`: the commands of swarm-lib, for its scripts and workers, on our store. */
import { homedir } from "node:os";
import { runSwarmCli } from "../swarm/cli.ts";

// A reader that has seen enough (`swarm-cli ls | head`) is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

void runSwarmCli(process.argv.slice(2), {
  // The usage, `ls` and `status-show` need no store and start without loading it.
  open: async (path, options) => (await import("./open-run.ts")).openRun(path, options),
  stdout: process.stdout,
  stderr: process.stderr,
  home: homedir(),
  claim: process.env.VIV_CLAIM,
  columns: Number(process.env.COLUMNS) || undefined,
}).then((status) => {
  process.exitCode = status;
});
