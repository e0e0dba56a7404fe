import { readdirSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { Values } from "./argparse.ts";
import { type Context, runPath, type Verb } from "./context.ts";
import { dumps, type JsonTree } from "./python.ts";
import { readStatusFile, UnreadableStatus } from "./status-commands.ts";

/** One run, or every run below a folder; as text or as JSON. */
export const ls: Verb = async (values, context) => {
  const { stdout } = context;
  const runs = runsToShow(values, context);
  if (typeof runs === "number") return runs;
  const summaries = runs.map(summarizeRun);
  if (values.has("--json")) {
    stdout.write(`${dumps(summaries, "indented")}\n`);
    return 0;
  }
  const inColor = stdout.isTTY === true && !values.has("--no-color");
  stdout.write(`${summaries.map((summary) => renderRun(summary, inColor)).join("\n\n")}\n`);
  return 0;
};

/** The paths; or the exit status of an answer that it has printed. */
function runsToShow(values: Values, { stdout, stderr, home }: Context): string[] | number {
  const asJson = values.has("--json");
  const runDir = values.filled("--run-dir");
  if (runDir !== undefined) return [runPath(runDir, home)];
  const given = values.filled("--root");
  const root = given === undefined ? `${home}/.swarm` : runPath(given, home);
  if (!isFolder(root)) {
    const error = `no swarm root at ${root}`;
    const hint = "pass --run-dir to summarize a specific run";
    if (asJson) stdout.write(`${dumps({ error, hint }, "indented")}\n`);
    else stderr.write(`${error}; ${hint}\n`);
    return 1;
  }
  const runs = namesIn(root)
    .map((name) => `${root}/${name}`)
    .filter(isFolder);
  if (runs.length > 0) return runs;
  if (asJson) stdout.write("[]\n");
  else stderr.write(`no runs under ${root}\n`);
  return 0;
}

/** The keys of `ls --json`. Only names of files are read, so any folder and any size will do. */
function summarizeRun(runDir: string) {
  const exists = statSync(runDir, { throwIfNoEntry: false }) !== undefined;
  const checkpoint = exists ? readCheckpoint(runDir) : new Map<string, JsonTree>();
  const completed = checkpoint.get("completed_tasks");
  const list = Array.isArray(completed) ? completed : [];
  return {
    run_dir: runDir,
    run_id: basename(runDir),
    exists,
    pending: countTasks(`${runDir}/pending`),
    claimed_by_worker: countClaims(`${runDir}/claimed`),
    done: countTasks(`${runDir}/done`),
    failed: countTasks(`${runDir}/failed`),
    next_step: checkpoint.get("next_step") || null,
    next_task_id: checkpoint.get("next_task_id") ?? null,
    last_completed: list.at(-1) ?? null,
    current_worker: checkpoint.get("current_worker") ?? null,
    completed_count: list.length,
    // Not in swarm-lib: states of ours in which a task is neither pending nor ended.
    waiting: countTasks(`${runDir}/waiting`),
    review: countTasks(`${runDir}/review`),
    quarantine: countFiles(`${runDir}/quarantine`, (name) => !name.endsWith(".reason")),
  };
}

/** Empty without a status.json that can be read: the counts are shown anyway. */
function readCheckpoint(runDir: string): ReadonlyMap<string, JsonTree> {
  try {
    return readStatusFile(runDir)?.checkpoint ?? new Map();
  } catch (error) {
    if (error instanceof UnreadableStatus) return new Map();
    throw error;
  }
}

function countTasks(folder: string): number {
  return countFiles(folder, (name) => name.endsWith(".json"));
}

function countFiles(folder: string, isCounted: (name: string) => boolean): number {
  return namesIn(folder).filter(isCounted).length;
}

function countClaims(claimed: string): Map<string, number> {
  const counts = namesIn(claimed).map((name): [string, number] => [
    name,
    countTasks(`${claimed}/${name}`),
  ]);
  return new Map(counts.filter(([, count]) => count > 0));
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Sorted; none for a missing folder, or a file. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

/** Counts of zero are dim. */
function renderRun(run: ReturnType<typeof summarizeRun>, inColor: boolean): string {
  const paint = (code: string, text: string) => (inColor ? `\x1b[${code}m${text}\x1b[0m` : text);
  const count = (name: string, n: number, code: string) =>
    paint(n > 0 ? code : "2", `${name}=${n}`);
  const claimed = [...run.claimed_by_worker.values()].reduce((sum, n) => sum + n, 0);
  // Only where there are any: a run without features of ours looks as in swarm-lib.
  const ours = (["waiting", "review", "quarantine"] as const).filter((name) => run[name] > 0);
  const lines = [
    `${paint("1;36", plain(run.run_id))}  ${plain(run.run_dir)}`,
    `  ${[
      count("pending", run.pending, "33"),
      count("claimed", claimed, "34"),
      count("done", run.done, "32"),
      count("failed", run.failed, "31"),
      ...ours.map((name) => count(name, run[name], "35")),
    ].join("  ")}`,
  ];
  for (const [worker, n] of run.claimed_by_worker) {
    lines.push(`    in flight: ${plain(worker)} (${n})`);
  }
  if (run.next_task_id) {
    const step = run.next_step === null ? "" : plain(run.next_step);
    lines.push(`  next: ${paint("36", plain(run.next_task_id))}  ${step}`);
  } else if (run.next_step) {
    lines.push(`  next: ${plain(run.next_step)}`);
  }
  if (run.last_completed) {
    lines.push(`  last completed: ${plain(run.last_completed)}  (${run.completed_count} total)`);
  }
  return lines.join("\n");
}

/** An agent's text without codes that command a terminal. */
function plain(value: JsonTree): string {
  const text = typeof value === "string" ? value : dumps(value);
  // Cf: invisible characters, and those that reverse a line.
  return text.replace(/[^\P{Cc}\n\t]|\p{Cf}|[\u2028\u2029]/gu, "");
}
