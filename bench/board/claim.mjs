// A claim on a board of 5,000 tasks in a repository with 10,000 commits, beside the bare `git commit`
// that an agent would make there by hand: the same file with as small a change.

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "rolldown";
import { median, pairedRatio, takeTurns } from "../lib/samples.mjs";

export default async function claim(bench) {
  const tasks = bench.quick ? 1000 : 5000;
  const commits = bench.quick ? 1000 : 10_000;
  const folder = repository(bench, tasks, commits);
  const board = join(folder, "board.org");
  const viv = join(bench.dist, "viv.cjs");
  const claimHere = await inProcess(bench, folder);
  let next = 0;
  const samples = await takeTurns(
    {
      ours: () =>
        timed(
          process.execPath,
          [viv, "board", "claim", `story-${next++}`, "--agent", "moss"],
          folder,
        ),
      bare: () => {
        const text = readFileSync(board, "utf8");
        const claimed = `*** RESEARCH story number ${next} —`;
        writeFileSync(board, text.replace(`*** ASSIGNED story number ${next++} —`, claimed));
        return timed("git", ["commit", "-q", "-a", "-m", "research: claim"], folder);
      },
      node: () => timed(process.execPath, ["-e", "0"], folder),
      here: async () => {
        const begin = performance.now();
        await claimHere(`story-${next++}`);
        return Math.round((performance.now() - begin) * 100) / 100;
      },
    },
    bench.quick ? 7 : 25,
  );
  const { ours, bare, node, here } = samples;
  const less = ours.map((took, i) => Math.round((took - node[i]) * 100) / 100);
  const row = (measure, mine, rest) =>
    bench.row({
      measure,
      ours: median(mine),
      peer: median(bare),
      unit: "ms",
      ratio: pairedRatio(mine, bare),
      samples: { ours: mine, peer: bare },
      ...rest,
    });
  const where = `${tasks.toLocaleString("en-US")} tasks, ${commits.toLocaleString("en-US")} commits`;
  row(`board: viv board claim beside git commit -a, ${where}`, ours, { target: { atMost: 2 } });
  row("board: the same, less what node -e 0 takes", less, {});
  row("board: the same, in a process that is running already", here, {});
}

/** Bundled for this alone: no program of ours that stays changes boards, and the library has none. */
async function inProcess(bench, cwd) {
  const dir = bench.workspace.fresh("in-process");
  await build({
    input: join(import.meta.dirname, "../../src/board/operations.ts"),
    platform: "node",
    output: { dir, format: "esm", entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" },
  });
  const { boardClaim } = await import(pathToFileURL(join(dir, "operations.mjs")));
  const noLock = async () => {};
  const context = { now: Date.now, here: { cwd, env: {} }, use: async () => noLock };
  return (slug) => boardClaim.run(context, { slug, agent: "moss" });
}

function repository(bench, tasks, commits) {
  const folder = bench.workspace.fresh("board");
  mkdirSync(folder, { recursive: true });
  const git = (args, input) => {
    const { status, stderr } = spawnSync("git", args, { cwd: folder, input, encoding: "utf8" });
    if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
  };
  const stories = Array.from(
    { length: tasks },
    (_, i) =>
      `*** ASSIGNED story number ${i} — one story through the whole pipeline\n:PROPERTIES:\n:CUSTOM_ID: story-${i}\n:END:\nA lead: what somebody said about it.\n`,
  );
  const text = `#+TODO: ASSIGNED RESEARCH WRITING EDIT | PUBLISHED KILLED\n\n* Stories\n${stories.join("")}`;
  const file = (path, content) =>
    `M 100644 inline ${path}\ndata ${Buffer.byteLength(content)}\n${content}\n`;
  const stream = Array.from({ length: commits }, (_, i) => {
    const subject = `desk: note ${i}`;
    const head = `commit refs/heads/main\ncommitter desk <desk@example.org> ${1_700_000_000 + i} +0000\ndata ${subject.length}\n${subject}\n`;
    return head + (i === 0 ? file("board.org", text) : "") + file(`notes/${i % 100}.txt`, `${i}\n`);
  });
  git(["init", "-q", "-b", "main"]);
  git(["config", "user.name", "moss"]);
  git(["config", "user.email", "moss@example.org"]);
  git(["fast-import", "--quiet"], stream.join(""));
  git(["checkout", "-q", "main"]);
  return folder;
}

/** Without NODE_EXTRA_CA_CERTS: where it is set, node reads all certificates at each start. */
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;

function timed(program, args, cwd) {
  const begin = performance.now();
  const { status, stderr } = spawnSync(program, args, { cwd, env, encoding: "utf8" });
  const took = performance.now() - begin;
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}: ${stderr}`);
  return Math.round(took * 100) / 100;
}
