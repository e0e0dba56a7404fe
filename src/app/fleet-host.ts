import { spawn } from "node:child_process";
import { constants, existsSync, readSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Machine, ProcessIdentity } from "../base/clock.ts";
import { isVivError } from "../base/errors.ts";
import type { Config } from "../base/section.ts";
import { chooseFromSurroundings } from "../crew/choose.ts";
import { crewSection } from "../crew/config.ts";
import { clockChild } from "../fleet/clock-child.ts";
import { fleetSection } from "../fleet/config.ts";
import { fleetFilesIn } from "../fleet/fleet-files.ts";
import type { DetachedStart, FleetHost, FleetPort } from "../fleet/fleet-ports.ts";
import { checkLeftovers } from "../fleet/leftovers.ts";
import type { FleetFacts } from "../fleet/parts.ts";
import { scheduleSection } from "../fleet/schedule/config.ts";
import { type SchedulePort, scheduleFolder } from "../fleet/schedule/operations.ts";
import { type Program, programPort } from "../fleet/up-ports.ts";
import { isRunning } from "../fleet/ups.ts";
import { mergeSection } from "../merge/config.ts";
import { notifySection } from "../notify/config.ts";
import { type Context, definedIn, type RunPlace } from "../operation/operation.ts";
import { mkdirSync, openSync, removeSync, renameSync } from "../platform/files/beneath.ts";
import { runRegistryIn } from "../platform/files/run-registry.ts";
import { explained } from "../platform/files/state-files.ts";
import { readText } from "../platform/files/texts.ts";
import { localChildren, timers } from "../platform/processes/children.ts";
import { localMachine } from "../platform/processes/machine.ts";
import { runLineOf, runSection } from "../queue/config-run.ts";
import type { RunCheck, Store } from "../queue/store.ts";
import { readServer } from "../server/server-file.ts";
import { routesSection } from "../work/config-route.ts";
import { configWatchPort, WORK_SITE } from "../work/host.ts";
import { findConfigFile, readConfigFile } from "./find-run.ts";
import { clocks } from "./fleet-clocks.ts";
import { goodConfigEnv } from "./good-config.ts";
import { runsFolder } from "./note-run.ts";

/** The supervisor of a run's fleet, on this machine. */
export async function fleetHost(
  context: Context,
  place: RunPlace,
  store: Store,
): Promise<FleetHost> {
  const { here } = context;
  const machine = localMachine();
  const { node, viv } = await context.use(programPort);
  const watch = await context.use(configWatchPort);
  const { config } = place;
  // Commands without --run find the same viv.toml there.
  const cwd = config === undefined || config.file === here.config?.file ? here.cwd : config.folder;
  const file = config?.file ?? join(folderOf(place, cwd), "viv.toml");
  const running = clocks(context, store);
  return {
    ...{ machine, timers, cwd, viv: [node, viv], env: definedIn(here.env) },
    children: localChildren(machine),
    files: fleetFilesIn(store.folder),
    run: store.folder,
    hasRun: () => existsSync(join(store.folder, "claimed")),
    facts: (read) =>
      factsOf({ ...context, here: { ...here, cwd, config: read } }, store.folder, read),
    startClock: (kind, now, onEvent) =>
      clockChild(machine, (signal) => running[kind](now, onEvent, signal)),
    watchConfig: (act) => watch(file, act, { counts: config?.text }),
    handing: (read) => goodConfigEnv({ file, text: read?.text ?? "" }),
    endProcess: (process) => endProcess(machine, process),
  };
}

/** Where a viv.toml would be, if there is none yet. */
function folderOf({ path, from }: RunPlace, cwd: string): string {
  return from.endsWith(".viv-run") ? dirname(from) : from === path ? dirname(path) : cwd;
}

async function factsOf(
  context: Context,
  run: string,
  config: Config | undefined,
): Promise<FleetFacts> {
  const fleet = config?.section(fleetSection);
  const crew = await chooseFromSurroundings(context);
  const agents = join(config?.folder ?? context.here.cwd, "agents.toml");
  const targets = config?.section(notifySection) ?? [];
  const schedules = config?.section(scheduleSection) ?? [];
  return {
    run: config === undefined ? run : runIn(config, run),
    hasRoutes: (config?.section(routesSection).size ?? 0) > 0,
    workers: fleet?.workers ?? null,
    merges: config?.section(mergeSection).auto ?? false,
    crew: crew && JSON.stringify([crew.file, config?.section(crewSection)]),
    warden: fleet?.written("warden") ?? null,
    agents: existsSync(agents) ? agents : null,
    // A server without a viv.toml does not look for one: with the first one it is started again.
    server:
      (fleet?.hasServer ?? true) ? JSON.stringify([config?.file, fleet?.written("server")]) : null,
    hasPort: fleet?.hasPort ?? false,
    schedules: schedules.length > 0 ? JSON.stringify(schedules) : null,
    notifications: targets.length > 0 ? String(targets.length) : null,
  };
}

/** The run that this viv.toml names; without one, the run that is meant already. */
function runIn(config: Config, meant: string): string {
  const named = config.section(runSection).run;
  if (named === undefined || named.startsWith("~")) return meant;
  return realOf(resolve(config.folder, named)) === realOf(meant) ? meant : named;
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // not made yet
  }
}

const ASK_AFTER_MS = 8_000;
const KILL_AFTER_MS = 10_000;
const LOOK_AGAIN_MS = 50;

/** It should end by itself, because its stdin has closed; a signal then means at once, and the last one kills. */
async function endProcess(machine: Machine, process: ProcessIdentity): Promise<boolean> {
  const begin = performance.now();
  const sent = new Set<NodeJS.Signals>();
  const send = (signal: NodeJS.Signals, pid: number) => {
    if (!sent.has(signal)) signalTo(pid, signal);
    sent.add(signal);
  };
  while (machine.vitality(process) === "alive") {
    const passed = performance.now() - begin;
    if (passed > ASK_AFTER_MS) send("SIGTERM", process.pid);
    if (passed > KILL_AFTER_MS) send("SIGKILL", -process.pid); // it leads a group of its own
    if (passed > 2 * KILL_AFTER_MS) return false;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
  return true;
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it is just ending
  }
}

export function fleetPorts(env: Context["here"]["env"], cwd: string, program: Program): FleetPort {
  const machine = localMachine();
  const knownRuns = () =>
    runRegistryIn(runsFolder(env, cwd))
      .list()
      .map(({ path }) => path);
  const startedWith = (file: string) =>
    fleetStartedWith((one) => one === file, knownRuns(), machine);
  return {
    ...{ filesIn: fleetFilesIn, machine, timers, ask: signalTo },
    runNamed: () => {
      const file = findConfigFile({ cwd, env });
      if (file === undefined) {
        return fleetStartedWith(
          (one) => `${cwd}/`.startsWith(`${dirname(one)}/`),
          knownRuns(),
          machine,
        );
      }
      return startedWith(file) ?? writtenRun(file);
    },
    startedWith,
    knownRuns,
    addressIn: (run) => readServer(run, machine)?.address ?? null,
    detach: (logPath, args) => detach(logPath, args, definedIn(env), cwd, program),
  };
}

/** What a viv.toml that cannot be used seems to name: it stands above the first table. */
function writtenRun(file: string): string | null {
  try {
    const named = runLineOf(readConfigFile(file));
    return named ? resolve(dirname(file), named) : null;
  } catch (error) {
    if (isVivError(error)) return null; // a folder, or not trusted: it names nothing
    throw error;
  }
}

/** The run of a viv up that runs with such a viv.toml; of several the nearest, with the longest path. */
function fleetStartedWith(
  isMeant: (config: string) => boolean,
  runs: readonly string[],
  machine: Machine,
): string | null {
  const found = runs.flatMap((path) => {
    const last = fleetFilesIn(path).read();
    if (last === null || last.config === null || !isRunning(last, machine)) return [];
    return isMeant(last.config) ? [{ path, depth: dirname(last.config).length }] : [];
  });
  return found.sort((a, b) => b.depth - a.depth)[0]?.path ?? null;
}

/** What `viv doctor` finds of `viv up`. */
export function fleetCheck(folder: string): RunCheck {
  const machine = localMachine();
  const read = () => {
    const last = fleetFilesIn(folder).read();
    return { last, isUp: last !== null && isRunning(last, machine) };
  };
  return checkLeftovers(read, machine);
}

const MAX_BYTES = 64 * 1024;

export function schedulePorts(): SchedulePort {
  const machine = localMachine();
  return {
    folderOf: (store) => scheduleFolder(store.folder, store.extension(WORK_SITE) !== null),
    readText,
    isUp: (store) => {
      const last = fleetFilesIn(store.folder).read();
      return last !== null && isRunning(last, machine);
    },
  };
}

const { O_RDWR, O_CREAT, O_EXCL } = constants;

/** In a session of its own: it outlives the terminal. Its events are in its own log. */
function detach(
  logPath: string,
  args: readonly string[],
  env: Record<string, string>,
  cwd: string,
  { node, viv }: Program,
): DetachedStart {
  const log = explained(logPath, () => {
    mkdirSync(dirname(logPath), { recursive: true, mode: 0o700 });
    // Its own file, whichever of several starts has the name at last; a link is not followed.
    const temporary = `${logPath}.${process.pid}`;
    removeSync(temporary);
    const opened = openSync(temporary, O_RDWR | O_CREAT | O_EXCL, 0o600);
    renameSync(temporary, logPath);
    return opened;
  });
  const child = spawn(node, [viv, ...args], {
    ...{ cwd, env, detached: true, stdio: ["ignore", "ignore", log] },
  });
  const ended = new Promise<{ status: number | null; stderr: string }>((resolve) => {
    const finish = (status: number | null, more = "") => {
      const bytes = Buffer.alloc(MAX_BYTES);
      const written = bytes.toString("utf8", 0, readSync(log, bytes, 0, MAX_BYTES, 0));
      resolve({ status, stderr: written + more });
    };
    child.once("error", (error) => finish(null, error.message));
    child.once("exit", (status) => finish(status));
  });
  return { pid: child.pid ?? null, ended, leave: () => child.unref() };
}
