// Both ends of the talk with a process of bench/child/: it says when it is ready, then answers one
// request at a time, so that the parent decides who works when.

import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Nanoseconds on a clock that all processes of this machine share. */
export function now() {
  return Number(process.hrtime.bigint());
}

/** In the child: `answer(request)` for each request, `finish()` at the end. */
export function serve(answer, finish = () => {}) {
  process.on("message", async (request) => {
    if (request !== "stop") {
      process.send(await answer(request));
      return;
    }
    await finish();
    process.send({ peakMb: peakMb() }, () => process.exit());
  });
  process.send("ready");
}

/** The setting its parent started it with. */
export function setting() {
  return JSON.parse(process.argv[2]);
}

/**
 * The most memory this process ever held. Not resourceUsage().maxRSS where there is a choice: on
 * Linux that starts with what the parent held.
 */
function peakMb() {
  try {
    const kilobytes = /VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))[1];
    return Number(kilobytes) / 1024;
  } catch {
    return process.resourceUsage().maxRSS / 1024;
  }
}

/** In the parent: starts bench/child/<program>.mjs and waits until it is ready. */
export async function start(program, config, execArgv = [], execPath = process.execPath) {
  const path = fileURLToPath(new URL(`../child/${program}.mjs`, import.meta.url));
  const child = fork(path, [JSON.stringify(config)], { execArgv, execPath });
  const ask = (request) =>
    new Promise((resolve, reject) => {
      const onExit = (code) => reject(new Error(`${program} ended with ${code}: see above`));
      child.once("exit", onExit);
      child.once("message", (reply) => {
        child.off("exit", onExit);
        resolve(reply);
      });
      if (request !== undefined) child.send(request);
    });
  await ask();
  const stop = async () => {
    const exited = once(child, "exit");
    const reply = await ask("stop");
    await exited;
    return reply;
  };
  return { ask, stop };
}

/**
 * Lets several drain at once. The time goes from the word "go" to the last task that any of them
 * finished; nobody's search for more counts.
 */
export async function drainTogether(children, expected) {
  const begin = now();
  const replies = await Promise.all(children.map((child) => child.ask({ limit: expected })));
  const count = replies.reduce((total, reply) => total + reply.count, 0);
  if (count !== expected) throw new Error(`${count} tasks were drained instead of ${expected}`);
  return Math.max(...replies.map((reply) => reply.last)) - begin;
}
