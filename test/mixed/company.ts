import { execFile, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** Processes and questions that the tests of mixed company share. */

const HERE = fileURLToPath(new URL(".", import.meta.url));
/** VIV_DIST: another build than the one `npm test` makes. */
export const DIST = process.env.VIV_DIST ?? join(HERE, "../../dist");

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

function execute(file: string, args: readonly string[], env = process.env): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(file, args, { env }, (error, stdout, stderr) => {
      resolve({
        code: typeof error?.code === "number" ? error.code : error ? -1 : 0,
        stdout,
        stderr,
      });
    });
  });
}

/** One verb of swarm_ref.py, once for each list of arguments. Returns what the calls returned. */
export async function swarm(run: string, verb: string, ...calls: unknown[][]): Promise<unknown[]> {
  const texts = calls.map((call) => JSON.stringify(call));
  const { code, stdout, stderr } = await execute("python3", [REFERENCE, run, verb, ...texts]);
  if (code !== 0) throw new Error(`swarm_ref.py ${verb} failed: ${stderr}`);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const REFERENCE = join(HERE, "swarm_ref.py");

export function swarmCli(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const path = join(DIST, "swarm-cli.cjs");
  return execute(process.execPath, [path, ...args], { ...process.env, COLUMNS: "80", ...env });
}

/** What a worker process is told: see `work` in swarm_ref.py. */
export interface WorkOrder {
  run: string;
  worker: string;
  log: string;
  until: number;
  ready: string;
  go: string;
}

export interface Started {
  /** Resolves when the process has ended; rejects with its stderr when it failed. */
  ended: Promise<void>;
}

export function startSwarmWorker(order: WorkOrder): Started {
  const { run, worker, log, until, ready, go } = order;
  const call = JSON.stringify([worker, log, until, ready, go]);
  return start("python3", [REFERENCE, run, "work", call]);
}

export function startVivWorker(order: WorkOrder): Started {
  const { run, worker, log, until, ready, go } = order;
  const script = join(HERE, "viv-worker.mjs");
  return start(process.execPath, [script, run, worker, log, String(until), ready, go]);
}

function start(file: string, args: readonly string[]): Started {
  const child = spawn(file, args, {
    env: { ...process.env, VIV_DIST: DIST },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let stderr = "";
  child.stderr?.on("data", (data) => {
    stderr += data;
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${args.join(" ")} ended with ${code ?? signal}: ${stderr}`));
    });
  });
  return { ended };
}

/** Waits for a condition that other processes bring about. */
export async function until(what: string, holds: () => boolean, seconds = 30): Promise<void> {
  const deadline = Date.now() + seconds * 1000;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`gave up waiting: ${what}`);
    await pause(10);
  }
}

/** The ids of the tasks in a state's folder (or in `claimed/<worker>`), sorted. */
export function idsIn(run: string, state: string): string[] {
  const folder = join(run, state);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.slice(0, -".json".length))
    .sort();
}

export function readStatus(run: string) {
  return JSON.parse(readFileSync(join(run, "status.json"), "utf8")) as {
    schema_version: string;
    run_id: string;
    checkpoint: { completed_tasks: string[]; summary: string };
    metadata: Record<string, unknown>;
  };
}
