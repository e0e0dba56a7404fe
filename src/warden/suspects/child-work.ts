import { opendir, stat } from "node:fs/promises";
import { homedir, uptime } from "node:os";
import { join } from "node:path";
import { pidsSince, readProcess, TICKS_PER_SECOND } from "../../platform/processes/proc-fs.ts";
import type { SeenProcess, WorkSample } from "../dance.ts";
import { agentNamed } from "./agent-screen.ts";
import { argvOf, linkOf, textOf } from "./foreground-programs.ts";
import type { Work } from "./suspect.ts";

const MOST_ENTRIES = 5_000;
const DEEPEST = 5;

/**
 * The work of an agent's children: CPU time and bytes of each process of its tree but the agent, and a
 * file of its that was written. An agent's own CPU time does not count: a hung one still turns its
 * spinner. `isOwn`: this process is the suspect itself, or its shell.
 */
export async function workBelow(
  tree: readonly SeenProcess[],
  isOwn: (pid: number) => boolean,
  since: number,
): Promise<Work> {
  const agents = tree.filter(({ pid }) => agentNamed(argvOf(pid)) !== null).map(({ pid }) => pid);
  const processes = tree
    .filter(({ pid }) => !agents.includes(pid) && !isOwn(pid))
    .map(sampleOf)
    .filter((one) => one !== null);
  const [leader] = agents;
  return {
    processes,
    changed: leader === undefined ? null : await changedBy(leader, agents, tree, since),
  };
}

function sampleOf({ pid, started, command }: SeenProcess): WorkSample | null {
  const found = readProcess(pid);
  if (typeof found === "string" || found.isDead || String(found.started) !== started) return null;
  return {
    ...{ pid, started, command: command.slice(0, 200) },
    age_ms: Math.max(0, Math.round((uptime() - found.started / TICKS_PER_SECOND) * 1000)),
    cpu_ms: (found.ticks * 1000) / TICKS_PER_SECOND,
    io: bytesOf(pid),
  };
}

/** Read and written, also through the cache, pipes and sockets. */
function bytesOf(pid: number): number {
  const found = textOf(`/proc/${pid}/io`).matchAll(/^[rw]char: (\d+)$/gm);
  return [...found].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}

/** A file of its workspace or its transcript that was written after `since`. */
async function changedBy(
  leader: number,
  agents: readonly number[],
  tree: readonly SeenProcess[],
  since: number,
): Promise<string | null> {
  const cwd = linkOf(`/proc/${leader}/cwd`);
  for (const path of agents.flatMap(writtenBy)) if (await isNewer(path, since)) return path;
  // A file proves nothing where other processes work, too.
  const isShared = cwd !== null && othersIn(cwd, tree);
  const folders = cwd === null ? [] : [transcriptsOf(leader, cwd), ...(isShared ? [] : [cwd])];
  for (const folder of folders) {
    const found = await newerIn(folder, since);
    if (found !== null) return found;
  }
  return null;
}

function othersIn(cwd: string, tree: readonly SeenProcess[]): boolean {
  const own = new Set(tree.map(({ pid }) => pid));
  return [...pidsSince(1, 0)].some((pid) => !own.has(pid) && linkOf(`/proc/${pid}/cwd`) === cwd);
}

/** Files that it holds open for writing; files that several of its kind share do not count. */
function writtenBy(pid: number): string[] {
  const open: string[] = [];
  for (let fd = 3; fd < 64; fd++) {
    const path = linkOf(`/proc/${pid}/fd/${fd}`);
    if (path === null || !path.startsWith("/") || /^\/(dev|proc|sys)\//.test(path)) continue;
    if (/\.(log|db|sqlite3?|lock)(-wal|-shm|-journal)?$|\(deleted\)$/.test(path)) continue;
    const flags = /^flags:\s+(\d+)/m.exec(textOf(`/proc/${pid}/fdinfo/${fd}`))?.[1] ?? "0";
    if ((Number.parseInt(flags, 8) & 3) !== 0) open.push(path);
  }
  return open;
}

/** Claude opens its transcript for each line anew; it lies in a folder named by its workspace. */
function transcriptsOf(pid: number, cwd: string): string {
  const entries = textOf(`/proc/${pid}/environ`).split("\0");
  const variable = (name: string) =>
    entries.findLast((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
  const config = variable("CLAUDE_CONFIG_DIR") || join(variable("HOME") || homedir(), ".claude");
  return join(config, "projects", cwd.replace(/[^A-Za-z0-9]/g, "-"));
}

/** A file that was written after `since`; not below hidden folders, and within the limits. */
async function newerIn(folder: string, since: number): Promise<string | null> {
  let left = MOST_ENTRIES;
  const folders = [{ path: folder, depth: 0 }];
  for (let next = folders.shift(); next !== undefined && left > 0; next = folders.shift()) {
    const { path, depth } = next;
    try {
      for await (const entry of await opendir(path)) {
        if (--left < 0) break;
        if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
        const at = join(path, entry.name);
        if (entry.isDirectory() && depth < DEEPEST) folders.push({ path: at, depth: depth + 1 });
        if (entry.isFile() && (await isNewer(at, since))) return at;
      }
    } catch {
      // Gone, or not ours to read.
    }
  }
  return null;
}

async function isNewer(path: string, since: number): Promise<boolean> {
  try {
    return (await stat(path)).mtimeMs > since;
  } catch {
    return false; // gone meanwhile
  }
}
