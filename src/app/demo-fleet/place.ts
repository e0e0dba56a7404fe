import { existsSync, lstatSync, mkdtempSync, readdirSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Machine, ProcessIdentity } from "../../base/clock.ts";
import { parseRecord } from "../../base/json.ts";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import { removeTree } from "../../platform/files/remove-tree.ts";
import { readSmall } from "../../platform/files/state-files.ts";
import { signal } from "../../platform/processes/end-processes.ts";
import { localMachine } from "../../platform/processes/machine.ts";
import { carries, hasProcFs, readProcess } from "../../platform/processes/proc-fs.ts";

const PREFIX = "viv-fleet-demo-";
const OWNER = "demo.json";

/**
 * A demo's folder. All of it is below: repositories, run, state, the tmux socket. Every process that a
 * demo starts has `VIV_DEMO=<folder>` in its environment, so that what a killed one left can be found.
 */
export function newPlace(machine: Machine = localMachine()): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), PREFIX)));
  replaceFileUnsynced(join(folder, OWNER), `${JSON.stringify(machine.self())}\n`);
  return folder;
}

/** Folders of demos whose process is gone. */
export function deadPlaces(machine: Machine = localMachine()): string[] {
  const parent = realpathSync(tmpdir());
  return readdirSync(parent)
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => join(parent, name))
    .filter((folder) => isDead(folder, machine));
}

/** Only what this user made, and what says whose it is. */
function isDead(folder: string, machine: Machine): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (!stats?.isDirectory() || stats.uid !== process.getuid?.()) return false;
  const owner = parseRecord(readSmall(join(folder, OWNER), 4096));
  if (owner === null || typeof owner.pid !== "number") return false;
  return machine.vitality(owner as unknown as ProcessIdentity) === "gone";
}

/**
 * For `--clean`: false where the demo runs, or where it is none. A folder that lost its `demo.json`, or
 * is gone itself, was a demo's if processes have its mark.
 */
export async function clearIfDead(folder: string): Promise<boolean> {
  if (!basename(folder).startsWith(PREFIX)) return false;
  const isUnowned = !existsSync(join(folder, OWNER)) && processesOf(folder).length > 0;
  return isUnowned || isDead(folder, localMachine()) ? clearPlace(folder) : false;
}

/** How long processes may take to end by themselves, and to be gone after SIGKILL. */
const PATIENCE = { askMs: 6_000, killMs: 4_000 };
const LOOK_MS = 50;

/** Ends what is left of a demo, and removes its folder. True when nothing of it is there. */
export async function clearPlace(folder: string, patience = PATIENCE): Promise<boolean> {
  for (const [name, ms] of [
    ["SIGTERM", patience.askMs],
    ["SIGKILL", patience.killMs],
  ] as const) {
    const end = performance.now() + ms;
    const told = new Set<number>();
    for (let left = processesOf(folder); left.length > 0; left = processesOf(folder)) {
      for (const pid of left) if (!told.has(pid)) signal(pid, name);
      for (const pid of left) told.add(pid);
      if (performance.now() > end) break;
      await sleep(LOOK_MS);
    }
  }
  removeTree(folder);
  return processesOf(folder).length === 0;
}

/** Where there is no /proc (macOS), they end by themselves: their stdin has closed. */
export function processesOf(folder: string): number[] {
  if (!hasProcFs()) return [];
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    const found = readProcess(pid);
    if (typeof found === "string" || found.isDead) return [];
    return carries(found, `VIV_DEMO=${folder}`) === "yes" ? [pid] : [];
  });
}
