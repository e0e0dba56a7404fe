import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { LedgerLine } from "../../src/queue/ledger.ts";
import { TASK_STATES, type TaskState } from "../../src/queue/states.ts";

/** Looking at a run directory with plain file calls, as a person with `ls` and `cat` would. */

export interface Lies {
  state: TaskState;
  worker?: string;
}

/** Where each task file lies, by id: more than one place means that something is wrong. */
export function places(run: string): Map<string, Lies[]> {
  const found = new Map<string, Lies[]>();
  const note = (folder: string, lies: Lies) => {
    for (const name of names(folder)) {
      if (!name.endsWith(".json") || name.startsWith(".")) continue;
      const id = name.slice(0, -".json".length);
      found.set(id, [...(found.get(id) ?? []), lies]);
    }
  };
  for (const state of TASK_STATES) {
    if (state !== "claimed") note(join(run, state), { state });
    else {
      for (const worker of names(join(run, state))) {
        note(join(run, state, worker), { state, worker });
      }
    }
  }
  return found;
}

export function names(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

/** All lines of the ledger, and those that are not JSON: torn by a death or a full disk. */
export function ledgerLines(run: string): { lines: LedgerLine[]; torn: string[] } {
  const lines: LedgerLine[] = [];
  const torn: string[] = [];
  for (const file of names(join(run, "ledger"))) {
    for (const text of readFileSync(join(run, "ledger", file), "utf8").split("\n")) {
      if (text === "") continue;
      try {
        lines.push(JSON.parse(text) as LedgerLine);
      } catch {
        torn.push(text);
      }
    }
  }
  return { lines, torn };
}

/** For each task, how often the ledger says that it was done and does not take it back. */
export function countedCompletions(run: string): Map<string, number> {
  const { lines } = ledgerLines(run);
  const counted = new Map<string, number>();
  const isVoid = new Set(
    lines
      .filter((line) => line.event === "void" && line.outcome === "done")
      .map((line) => `${line.task} ${line.token}`),
  );
  for (const line of lines) {
    if (line.event !== "ended" || line.outcome !== "done") continue;
    if (isVoid.has(`${line.task} ${line.token}`)) continue;
    counted.set(line.task ?? "", (counted.get(line.task ?? "") ?? 0) + 1);
  }
  return counted;
}

/** Every file below a folder with its content, links and other things with what they are. */
export function snapshot(folder: string, below = ""): Record<string, string> {
  const seen: Record<string, string> = {};
  for (const name of names(join(folder, below))) {
    const path = below === "" ? name : `${below}/${name}`;
    const full = join(folder, path);
    const stats = lstatSync(full);
    if (stats.isDirectory()) {
      seen[`${path}/`] = "folder";
      Object.assign(seen, snapshot(folder, path));
    } else if (stats.isSymbolicLink()) seen[path] = `link to ${readlinkSync(full)}`;
    else if (stats.isFile()) seen[path] = readFileSync(full, "latin1");
    else seen[path] = "something else";
  }
  return seen;
}

/** The tasks of earlier rounds. */
const EARLIER = /^artifacts\/[^/]+\.rounds\/\d+\/(done|failed)\.json$/;

/** What every task file says, wherever it lies, quarantine included: what must never shrink. */
export function contents(run: string): string[] {
  const all = snapshot(run);
  const folders = [...TASK_STATES, "quarantine"];
  return Object.entries(all)
    .filter(([path]) => folders.includes(path.split("/")[0] ?? "") || EARLIER.test(path))
    .filter(([path]) => !path.endsWith(".reason") && !path.endsWith("/.heartbeat"))
    .filter(([path]) => !path.endsWith("/"))
    .map(([, text]) => text)
    .sort();
}
