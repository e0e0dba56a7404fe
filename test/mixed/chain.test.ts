import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { onDisk } from "../support/folders.ts";
import { DIST, idsIn, readStatus, swarmCli, until } from "./company.ts";
import { SILENT } from "./swarm-cli.ts";

/** A chain of seven steps in the shape of swarm-lib's example: each handler enqueues the next step. */

let home: string;
let run: string;

beforeEach(async () => {
  home = onDisk();
  run = join(home, "run");
  script("swarm-cli", `exec "${process.execPath}" "${DIST}/swarm-cli.cjs" "$@"`);
});

function script(name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** At step `stuckAt` its first run stops for good, after it has enqueued the next step. */
const HANDLER = `set -eu
cat > /dev/null
n=\${SWARM_TASK_ID##*.}
echo "$n" >> "${"$"}HOME/began"
echo "# step $n" > "$SWARM_ARTIFACT_PATH"
if [ "$n" -lt 7 ]; then
  next=$((n + 1))
  swarm-cli enqueue --run-dir "$SWARM_RUN_DIR" --task-id "t.chain.$next" --task-type "step$next" \\
    --depends-on "$SWARM_TASK_ID" --tier-hint haiku --created-by "$SWARM_WORKER_ID" \\
    --payload "{\\"step\\": $next, \\"weight\\": 1.0}"
  swarm-cli status-write --run-dir "$SWARM_RUN_DIR" --summary "step $n complete" \\
    --next-step "claim step $next" --next-task-id "t.chain.$next"
else
  swarm-cli status-write --run-dir "$SWARM_RUN_DIR" --summary "chain complete" --next-step "(done)"
fi
if [ "$n" = "\${STUCK_AT:-}" ] && [ ! -e "$HOME/stuck" ]; then
  touch "$HOME/stuck"
  exec tail -f /dev/null
fi`;

async function drive(): Promise<string> {
  const handler = script("handler.sh", HANDLER);
  const first = ["--next-step", "claim step 1", "--next-task-id", "t.chain.1"];
  await swarmCli(["status-init", "--run-dir", run, "--run-id", "chain", ...first]);
  writeFileSync(join(run, "BACKLOG.md"), "# the wish");
  const task = ["--task-id", "t.chain.1", "--task-type", "step1", "--payload", '{"step": 1}'];
  expect(await swarmCli(["enqueue", "--run-dir", run, ...task])).toEqual(SILENT);
  return handler;
}

function start(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const PATH = `${home}:${process.env.PATH}`;
  const child = spawn(file, args, {
    env: { ...process.env, HOME: home, PATH, ...env },
    stdio: "ignore",
    detached: true,
  });
  onTestFinished(() => kill(child));
  return child;
}

/** With all that it has started and that is in its group. */
function kill({ pid, exitCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // gone already
  }
}

const ended = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => {
    if (child.exitCode !== null) resolve(child.exitCode);
    else child.on("close", (code) => resolve(code));
  });

function work(worker: string, handler: string, tasks: number, env?: NodeJS.ProcessEnv) {
  const flags = ["--run-dir", run, "--worker-id", worker, "--handler", handler];
  const limits = ["--max-iterations", `${tasks}`, "--poll-interval", "1"];
  return start(process.execPath, [join(DIST, "viv.cjs"), "work", ...flags, ...limits], env);
}

const began = () => readFileSync(join(home, "began"), "utf8").trim().split("\n");
const STEPS = ["1", "2", "3", "4", "5", "6", "7"];

function expectWholeChain(): void {
  const ids = STEPS.map((n) => `t.chain.${n}`);
  expect(idsIn(run, "done")).toEqual(ids);
  expect([idsIn(run, "pending"), idsIn(run, "failed")]).toEqual([[], []]);
  expect(readStatus(run).checkpoint).toMatchObject({
    summary: "chain complete",
    next_task_id: null,
    completed_tasks: ids,
  });
  expect(readFileSync(join(run, "BACKLOG.md"), "utf8")).toBe("# the wish");
  for (const id of ids) expect(existsSync(join(run, `artifacts/${id}.md`))).toBe(true);
}

test("viv work --max-iterations 7 runs it to its end, and exits", async () => {
  const handler = await drive();
  expect(await ended(work("w.demo", handler, 7))).toBe(0);
  expect(began()).toEqual(STEPS);
  expectWholeChain();
});

test("a worker that is killed between the next step and its own end: the chain goes on", async () => {
  const handler = await drive();
  const first = work("w.1", handler, 7, { STUCK_AT: "3" });
  await until("step 3 has enqueued step 4", () => existsSync(join(home, "stuck")));
  expect(idsIn(run, "pending")).toEqual(["t.chain.4"]);
  first.kill("SIGKILL");
  await ended(first);
  expect(await ended(work("w.2", handler, 5))).toBe(0);
  expect(began()).toEqual(["1", "2", "3", "3", "4", "5", "6", "7"]);
  expectWholeChain();
});

/** A loop around swarm-cli, as worker_loop.sh is one. */
const LOOP = `set -eu
run=$1; worker=$2; handler=$3; left=$4
mkdir -p "$run/artifacts" "$run/claimed/$worker"
echo "" > "$run/claimed/$worker/.heartbeat-note"
swarm-cli heartbeat --run-dir "$run" --worker-id "$worker"
while [ "$left" -gt 0 ]; do
  task=$(swarm-cli claim --run-dir "$run" --worker-id "$worker" || true)
  [ -n "$task" ] || continue
  id=$(printf %s "$task" | sed 's/.*"task_id": "\\([^"]*\\)".*/\\1/')
  swarm-cli heartbeat --run-dir "$run" --worker-id "$worker" --note "$id"
  : > "$run/artifacts/$id.log"
  end=--failure
  if printf %s "$task" | SWARM_RUN_DIR=$run SWARM_TASK_ID=$id SWARM_WORKER_ID=$worker \\
    SWARM_ARTIFACT_PATH=$run/artifacts/$id.md SWARM_LOG_PATH=$run/artifacts/$id.log "$handler"; then
    end=--success
  fi
  swarm-cli complete --run-dir "$run" --worker-id "$worker" --task-id "$id" "$end"
  left=$((left - 1))
done
rm -f "$run/claimed/$worker/.heartbeat" "$run/claimed/$worker/.heartbeat-note"`;

test("the same with a shell's loop around swarm-cli, and its reaper", async () => {
  const handler = await drive();
  const loop = script("loop.sh", LOOP);
  const first = start(loop, [run, "w.1", handler, "7"], { STUCK_AT: "2" });
  await until("step 2 has enqueued step 3", () => existsSync(join(home, "stuck")));
  expect(readFileSync(join(run, "claimed/w.1/.heartbeat"), "utf8")).toBe("t.chain.2");
  kill(first);
  await ended(first);
  const reaped = await swarmCli(["reap", "--run-dir", run, "--stale-after", "0"]);
  expect(JSON.parse(reaped.stdout)).toMatchObject({
    reaped: [{ worker_id: "w.1", task_id: "t.chain.2" }],
  });
  expect(await ended(start(loop, [run, "w.2", handler, "6"]))).toBe(0);
  expect(began()).toEqual(["1", "2", "2", "3", "4", "5", "6", "7"]);
  expectWholeChain();
  expect(existsSync(join(run, "claimed/w.2/.heartbeat"))).toBe(false);
});
