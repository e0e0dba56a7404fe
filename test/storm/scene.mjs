import { spawn } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Where a storm happens: a folder with the run, and beside it what the referee goes by: the handlers'
 * journal, every command with its answer, every strike. And how processes are started there.
 */

const HERE = fileURLToPath(new URL(".", import.meta.url));
const PROGRAMS = join(HERE, "programs");

/** Seconds since boot, as in /proc/uptime: one clock for all processes. */
export const uptime = () => Number(process.hrtime.bigint()) / 1e9;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The promise's value, or undefined when it takes longer. */
export async function within(ms, promise) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export class Scene {
  constructor({ folder, dist, seed, staleSeconds, limitSeconds }) {
    this.folder = folder;
    this.run = join(folder, "run");
    this.journal = join(folder, "journal");
    this.strikesLog = join(folder, "strikes");
    this.viv = join(dist, "viv.cjs");
    this.dist = dist;
    this.seed = seed;
    this.staleSeconds = staleSeconds;
    this.limitSeconds = limitSeconds;
    /** Commands with their answers. */
    this.operations = [];
    /** What `viv work` said about the ends of attempts: for its user, those are acknowledged. */
    this.acknowledged = [];
    /** kill -9 and SIGSTOP by us: {worker, at, what}. */
    this.strikes = [];
    /** Workers that ended by themselves, and how. */
    this.deaths = [];
    /** Everything that runs: pid → {name, since, worker?}. */
    this.living = new Map();
    this.isOver = false;
    this.areFaultsOn = true;
    /** The power was cut: no more commands. */
    this.isDark = false;
    this.#count = 0;
    mkdirSync(join(folder, "running"), { recursive: true });
    for (const path of [this.journal, this.strikesLog]) closeSync(openSync(path, "a"));
  }

  #count;

  /** A number for a process or a command: the same decisions, the same numbers. */
  number() {
    return ++this.#count;
  }

  program(name) {
    return join(PROGRAMS, name);
  }

  /** The environment of a process, with what will go wrong in it. */
  env(name, faults) {
    const env = { ...process.env, STORM: this.folder, VIV_DIST: this.dist };
    for (const key of Object.keys(env)) if (/^(VIV_(?!DIST)|SWARM_)/.test(key)) delete env[key];
    if (!faults || !this.areFaultsOn) return env;
    const plan = { run: this.run, log: this.strikesLog, name, ...faults };
    return {
      ...env,
      NODE_OPTIONS: `--require ${join(HERE, "faults.cjs")}`,
      STORM_FAULTS: JSON.stringify(plan),
    };
  }

  /** A process that is noted, so that it can be struck and is not forgotten. */
  start(name, command, args, { faults, worker, stdio = ["ignore", "pipe", "pipe"] } = {}) {
    const child = spawn(command, args, { cwd: this.folder, env: this.env(name, faults), stdio });
    const { pid } = child;
    if (pid !== undefined) this.living.set(pid, { name, since: uptime(), worker, child });
    child.ended = new Promise((resolve) => {
      child.once("error", (error) => resolve({ error }));
      child.once("close", (status, signal) => resolve({ status, signal }));
    }).finally(() => this.living.delete(pid));
    return child;
  }

  /**
   * A command with its answer, noted for the referee. `about` is what the referee needs: verb, id,
   * token … `killAfterMs`: kill -9, if it still runs then.
   */
  async command(about, args, { faults, killAfterMs, input, program, isBare } = {}) {
    if (this.isDark) throw new Error("the power is off");
    const n = this.number();
    const operation = { n, ...about, begin: uptime() };
    const name = `${about.verb}-${n}`;
    const [command, all] = program
      ? [process.execPath, [program, ...args]]
      : [process.execPath, [this.viv, ...args, ...(isBare ? [] : ["--run", this.run]), "--json"]];
    const stdio = [input === undefined ? "ignore" : "pipe", "pipe", "pipe"];
    const child = this.start(name, command, all, { faults, stdio });
    const out = gather(child.stdout);
    const err = gather(child.stderr);
    if (input !== undefined) {
      child.stdin.on("error", () => {}); // it ended before it had read all
      child.stdin.end(input);
    }
    const kill = killAfterMs && setTimeout(() => child.kill("SIGKILL"), killAfterMs);
    const limit = setTimeout(() => {
      operation.hung = lookAt(child.pid);
      child.kill("SIGKILL");
    }, this.limitSeconds * 1000);
    const { status, signal, error } = await child.ended;
    clearTimeout(kill);
    clearTimeout(limit);
    Object.assign(operation, { end: uptime(), status, signal: signal ?? error?.code ?? null });
    operation.out = out.text;
    if (status !== 0) {
      const said = firstJson(err.text)?.error;
      operation.code = said?.code ?? null;
      operation.message = said?.message ?? err.text.slice(-2000);
    }
    this.note(operation);
    return operation;
  }

  /** {state, worker?} of a task, or null: by its folder, as anyone would look. */
  placeOf(id) {
    const file = `${id}.json`;
    for (const state of ["done", "review", "failed", "waiting", "pending"]) {
      if (existsSync(join(this.run, state, file))) return { state };
    }
    for (const worker of readdirSync(join(this.run, "claimed"))) {
      if (existsSync(join(this.run, "claimed", worker, file))) return { state: "claimed", worker };
    }
    return null;
  }

  note(operation) {
    this.operations.push(operation);
    appendFileSync(join(this.folder, "operations.jsonl"), `${JSON.stringify(operation)}\n`);
  }

  strike(worker, what) {
    this.strikes.push({ worker, what, at: uptime() });
  }
}

function gather(stream) {
  const gathered = { text: "" };
  stream.setEncoding("utf8").on("data", (text) => {
    gathered.text += text;
  });
  return gathered;
}

export function firstJson(text) {
  for (const line of text.split("\n")) {
    if (!line.startsWith("{")) continue;
    try {
      return JSON.parse(line);
    } catch {
      // Half a line, from a process that was killed.
    }
  }
  return undefined;
}

/** What a process that does not end is doing. */
function lookAt(pid) {
  const read = (name) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, "utf8").trim();
    } catch (error) {
      return error.code;
    }
  };
  return { stat: read("stat"), wchan: read("wchan"), stack: read("stack"), cpu: read("schedstat") };
}
