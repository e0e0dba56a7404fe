// Done tasks whose proof is `true`, landed by `viv merge --all` one after the other: each merged,
// checked out, proven, recorded, and only then in the target. Beside it as many plain `git merge` in
// a worktree of an equal repository.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median, pairedRatio, takeTurns } from "../lib/samples.mjs";

const FOLDERS = 50;
const FILES = 20;

export default async function land(bench) {
  const tasks = bench.quick ? 50 : 200;
  const samples = await takeTurns(
    {
      ours: () => ours(bench, tasks),
      bare: () => bare(bench, tasks),
    },
    bench.quick ? 1 : 2,
    (round) => bench.progress(`${tasks} merges, round ${round}`),
  );
  bench.row({
    measure: `merge: ${tasks} done tasks landed, each proven, beside ${tasks} git merge`,
    ours: median(samples.ours),
    peer: median(samples.bare),
    unit: "ms",
    ratio: pairedRatio(samples.ours, samples.bare),
    target: { atMost: 3 },
    samples: { ours: samples.ours, peer: samples.bare },
  });
}

async function ours(bench, tasks) {
  const home = await prepared(bench, tasks);
  writeFileSync(
    join(home, "viv.toml"),
    'run = "run"\n[handlers.default]\nhandler = "true"\nworkspace = "worktree"\nrepository = "repo"\ndone_when = "true"\n',
  );
  const env = { ...process.env, VIV_STATE: join(home, "state"), VIV_RUN: "" };
  const argv = [...bench.execArgv, join(bench.dist, "viv.cjs"), "merge", "--all", "--json"];
  const begin = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
    ...{ cwd: home, env, encoding: "utf8", maxBuffer: 1e9 },
  });
  const took = performance.now() - begin;
  if (status !== 0) throw new Error(`viv merge ended with ${status}: ${stderr}`);
  const { landings } = JSON.parse(stdout);
  const landed = landings.filter(({ landing }) => landing === "landed").length;
  if (landed !== tasks) throw new Error(`${landed} of ${tasks} landed`);
  return took;
}

async function bare(bench, tasks) {
  const home = await prepared(bench, tasks);
  const cwd = join(home, "tree");
  git(home, "repo", "worktree", "add", "-q", "-b", "target", cwd);
  const begin = performance.now();
  for (let n = 1; n <= tasks; n++) {
    const { status, stderr } = spawnSync("git", ["merge", "-q", "--no-edit", `viv/t.${n}@run`], {
      ...{ cwd, encoding: "utf8" },
    });
    if (status !== 0) throw new Error(`git merge ended with ${status}: ${stderr}`);
  }
  return performance.now() - begin;
}

function git(home, repo, ...args) {
  return execFileSync("git", ["-C", join(home, repo), ...args], { encoding: "utf8" }).trim();
}

/** A repository with a branch and a worktree for each of the tasks, which are done. */
async function prepared(bench, tasks) {
  const home = bench.workspace.fresh("merge");
  const run = join(home, "run");
  mkdirSync(join(home, "repo"), { recursive: true });
  git(home, "repo", "init", "-q", "-b", "main");
  git(home, "repo", "config", "user.name", "bench");
  git(home, "repo", "config", "user.email", "bench@example.org");
  execFileSync("git", ["-C", join(home, "repo"), "fast-import", "--quiet"], {
    input: history(tasks),
  });
  git(home, "repo", "reset", "-q", "--hard");
  const store = await bench.openRun(run, { create: true, durability: "fast" });
  const ids = Array.from({ length: tasks }, (_, i) => `t.${i + 1}`);
  await store.enqueueMany(ids.map((id) => ({ id, type: "t" })));
  for (const { id, token } of await store.claim({ worker: "w", max: tasks })) {
    await store.complete({ id, worker: "w", token });
  }
  mkdirSync(join(run, "workspaces"), { recursive: true });
  const base = git(home, "repo", "rev-parse", "main");
  for (const id of ids) {
    const branch = `viv/${id}@run`;
    git(
      home,
      "repo",
      "worktree",
      "add",
      "-q",
      "--no-checkout",
      join(run, "workspaces", id),
      branch,
    );
    const record = { kind: "worktree", repository: join(home, "repo"), branch, base };
    const text = JSON.stringify({ ...record, created_at: new Date().toISOString() });
    writeFileSync(join(run, "workspaces", `.${id}.json`), text);
  }
  await store.close();
  bench.workspace.settle();
  return home;
}

/** A thousand files, and for each task a branch that adds one and changes one. */
function* lines(tasks) {
  const who = "committer bench <bench@example.org> 1700000000 +0000";
  const data = (text) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const file = (path, text) => `M 644 inline ${path}\n${data(text)}`;
  yield `commit refs/heads/main\nmark :1\n${who}\n${data("first")}`;
  for (let d = 0; d < FOLDERS; d++) {
    for (let f = 0; f < FILES; f++) yield file(`d${d}/f${f}.txt`, `file ${f} of ${d}\n`);
  }
  for (let n = 1; n <= tasks; n++) {
    yield `commit refs/heads/viv/t.${n}@run\n${who}\n${data(`task ${n}`)}from :1\n`;
    yield file(`new/t${n}.txt`, `made by ${n}\n`);
    yield file(`d${n % FOLDERS}/f${Math.floor(n / FOLDERS)}.txt`, `changed by ${n}\n`);
  }
}

function history(tasks) {
  return [...lines(tasks)].join("");
}
