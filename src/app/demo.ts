import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createColors } from "picocolors";
import { type Counts, openRun, type Store } from "../main.ts";
import { wantsColor } from "../operation/term.ts";
import { Reaper } from "../queue/reaper.ts";
import { tellStory } from "./demo-story.ts";
import { DemoView } from "./demo-view.ts";

/**
 * `viv demo`: sixteen small tasks and one that depends on all of them, three workers, one of them
 * killed on the way. Everything is the real thing (processes, renames, kill -9); the run is kept,
 * so that it can be looked at afterwards.
 */
const WORKERS = ["ada", "bob", "cyd"];
const LINES = [
  "A vivarium is a place where living things are kept, fed and watched.",
  "Ours keeps agents.",
  "Work is files.",
  "Ownership is where a file lies.",
  "Every hand-off is one atomic rename.",
  "No broker, no daemon and no account are needed on one machine.",
  "Nothing is lost, and nothing is done twice.",
  "Done is proven.",
  "Supervision costs no tokens.",
  "Caps cap.",
  "A kill leaves a receipt.",
  "What is unknown is never killed.",
  "Every question has a command.",
  "The doctor finds what is wrong, and repairs it.",
  "ls, cat and mv always work.",
  "Leave it alone overnight, and read in the morning what happened.",
];

export async function demo(
  args: readonly string[],
  workerProgram: string,
  signal: AbortSignal,
): Promise<number> {
  const quick = args.includes("--quick");
  const folder = mkdtempSync(join(tmpdir(), "viv-demo-"));
  const path = join(folder, "run");
  const store = await openRun(path, { create: true });
  const isTerminal = process.stdout.isTTY === true;
  const color = createColors(!args.includes("--no-color") && wantsColor(process.env, isTerminal));
  const view = new DemoView(process.stdout, color, isTerminal);
  const children = new Map<string, ChildProcess>();
  const reaper = new Reaper(store, {
    everyMs: 250,
    onReaped: (report) => {
      for (const one of report.reaped) {
        view.event(
          `${color.green("recovered")} ${one.id}: ${one.worker} is gone, so it went back to ${one.to}/`,
        );
      }
    },
  });
  try {
    view.event(`a run in ${color.bold(path)}`);
    await enqueueAll(store);
    view.event(
      `enqueued ${LINES.length} tasks, and ${color.cyan("total")}, which waits for all of them`,
    );
    for (const name of WORKERS) {
      children.set(name, startWorker(workerProgram, path, name, quick ? 60 : 450));
      view.event(`started worker ${color.bold(name)} (pid ${children.get(name)?.pid})`);
    }
    reaper.start();
    const victim = await watchOver(store, view, children, color, signal);
    await reaper.stop();
    if (signal.aborted) {
      view.stop();
      process.stdout.write(`stopped; the run is still there: viv ls --run ${path}\n`);
      return 130;
    }
    view.stop();
    const program = join(dirname(workerProgram), "viv.cjs");
    return await tellStory({ store, path, victim, program, tasks: LINES.length + 1 }, color);
  } finally {
    await reaper.stop();
    for (const child of children.values()) child.kill("SIGTERM");
    await Promise.all([...children.values()].map(gone));
    await store.close();
    if (process.env.VIV_DEMO_CLEAN) rmSync(folder, { recursive: true, force: true });
  }
}

async function enqueueAll(store: Store): Promise<void> {
  const ids = LINES.map((_, i) => `count.${String(i + 1).padStart(2, "0")}`);
  await store.enqueueMany(
    ids.map((id, i) => ({
      id,
      type: "count",
      payload: { text: LINES[i] },
    })),
  );
  await store.enqueue({ id: "total", type: "total", depends_on: ids });
}

function startWorker(program: string, run: string, name: string, paceMs: number): ChildProcess {
  const child = spawn(process.execPath, [program, run, name, String(paceMs)], {
    // The pipe is how a worker notices that the demo is gone, however that came about.
    stdio: ["pipe", "ignore", "inherit"],
  });
  child.on("error", () => {}); // seen by `gone`
  return child;
}

function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
    return Promise.resolve();
  }
  return new Promise((resolve) => child.once("exit", () => resolve()));
}

/** Shows the run until nothing is left to do; kills one worker in the middle of a task. */
async function watchOver(
  store: Store,
  view: DemoView,
  children: ReadonlyMap<string, ChildProcess>,
  color: ReturnType<typeof createColors>,
  signal: AbortSignal,
): Promise<{ name: string; task: string } | null> {
  let victim: { name: string; task: string } | null = null;
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const refresh = async () => {
    const counts = await store.counts();
    view.progress(counts, await store.workers());
    if (victim === null && counts.done >= 4) {
      for (const [name, child] of children) {
        // Held still first: it could finish the task between our look and the blow.
        child.kill("SIGSTOP");
        const task = await unfinishedOf(store, name);
        if (task === undefined) {
          child.kill("SIGCONT");
          continue;
        }
        child.kill("SIGKILL");
        victim = { name, task };
        view.event(`${color.red("kill -9")} worker ${color.bold(name)}, in the middle of ${task}`);
        break;
      }
    }
    if (isOver(counts)) stop.abort();
  };
  await refresh();
  for await (const change of store.watch({ signal: either, rescanMs: 500 })) {
    if (change.kind === "task" && change.to === "done")
      view.event(`${color.green("done")} ${change.id}`, true);
    await refresh();
  }
  return victim;
}

/** What a worker has claimed and not recorded the end of. */
async function unfinishedOf(store: Store, name: string): Promise<string | undefined> {
  const [task] = (await store.workers()).find((w) => w.name === name)?.claims ?? [];
  if (task === undefined) return undefined;
  for await (const line of store.ledger({ task })) if (line.event === "ended") return undefined;
  return task;
}

function isOver(counts: Counts): boolean {
  return counts.waiting + counts.pending + counts.claimed === 0;
}
