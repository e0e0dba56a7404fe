// Starts /bin/true with pipes, in its own process group, as often as it is told, some at a time.

import { spawn } from "node:child_process";
import { now, serve, setting } from "../lib/child.mjs";

const { concurrency } = setting();

serve(async ({ limit }) => {
  const begin = now();
  let left = limit;
  const lane = async () => {
    while (left-- > 0) await once();
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return { count: limit, begin, last: now() };
});

function once() {
  return new Promise((resolve) => {
    const child = spawn("/bin/true", [], { detached: true, stdio: "pipe" });
    child.stdin.on("error", () => {}); // it does not read
    child.stdin.end("{}\n");
    child.stdout.resume();
    child.stderr.resume();
    child.once("close", resolve);
  });
}
