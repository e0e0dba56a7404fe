// A large run behind a real `viv serve`, and a real browser before it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { makeLargeRun } from "./large-run.mjs";

const TICKS_PER_SECOND = 100;

/** A folder with the run; many servers may follow one another on it. */
export async function largeFolder(bench) {
  const size = bench.quick ? 10_000 : 100_000;
  const folder = bench.workspace.fresh("page");
  mkdirSync(folder);
  bench.progress(`writing ${size.toLocaleString("en-US")} tasks`);
  const counts = await makeLargeRun(bench.openRun, join(folder, "run"), size);
  bench.workspace.settle();
  return { folder, run: join(folder, "run"), size, counts };
}

/** Resolves when it answers. */
export async function startServer(bench, { folder }) {
  const env = { ...process.env, VIV_STATE: join(folder, "state"), VIV_RUN: "", HOME: folder };
  const program = join(bench.dist, "viv.cjs");
  const child = spawn(
    process.execPath,
    [...bench.execArgv, program, "serve", "--port", "0", "--json", "--run", join(folder, "run")],
    { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] },
  );
  const [line] = await once(createInterface(child.stdout), "line");
  const { address } = JSON.parse(line);
  return {
    address,
    pid: child.pid,
    /** Until titles, filters and facts are there too. */
    async isRead() {
      for (;;) {
        const answer = await fetch(`${address}/api/cards?windows=done:0:1`);
        if ((await answer.json()).reading === null) return;
        await delay(100);
      }
    },
    rssMb: () => kilobytes(child.pid, "VmRSS") / 1024,
    peakMb: () => kilobytes(child.pid, "VmHWM") / 1024,
    cpuSeconds: () => {
      const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1].split(" ");
      return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    },
    async stop() {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}

function kilobytes(pid, key) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${key}:\\s+(\\d+) kB`).exec(status)[1]);
}

const PLACES = [process.env.VIV_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser"];

/** Null where there is none. */
export async function startBrowser() {
  const executablePath = PLACES.find((path) => path && existsSync(path));
  if (executablePath === undefined) return null;
  const { chromium } = await import("playwright-core");
  const quiet = ["quic", "background-networking", "component-update", "sync", "gpu"];
  const args = ["--no-sandbox", "--no-first-run", ...quiet.map((one) => `--disable-${one}`)];
  return chromium.launch({ executablePath, args });
}
