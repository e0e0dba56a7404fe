import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Running, viv } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";

/** A run is removed under its workers: they end, and nothing of it is there again. */

const HANDLE = `#!/bin/sh
here=$(dirname "$0")
echo "$$" >>"$here/begun"
while :; do sleep 0.05; done
`;

function farm() {
  const folder = newFolder("viv-removed-");
  const env = { VIV_STATE: join(folder, "state") };
  writeFileSync(join(folder, "handle.sh"), HANDLE);
  chmodSync(join(folder, "handle.sh"), 0o755);
  const say = (...args: string[]) => viv(args, { cwd: folder, env });
  const run = join(folder, "run");
  const start = (...args: string[]) => new Running(args, { cwd: folder, env });
  const work = (name: string) =>
    start(...["work", "--run", "run", "--handler", "./handle.sh", "--json"], "--worker-id", name);
  return { folder, run, say, start, work };
}

/** `rm -rf`, again while a worker puts files below folders that are being emptied. */
const remove = (run: string) =>
  until("it is removed", () => {
    try {
      rmSync(run, { recursive: true });
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOTEMPTY" && code !== "ENOENT") throw error;
      return code === "ENOENT";
    }
  });

interface Part {
  name: string;
  state: string;
  pid: number | null;
}

const isAlive = (pid: number) => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};

describe.each([
  ["a run", ["init", "run"]],
  ["a pit", ["pit", "init", "run"]],
])("%s, removed", (_, init) => {
  it("ends idle and busy workers with 3, their handlers too, and stays removed", async () => {
    const { folder, run, say, work } = farm();
    expect(say(...init).status).toBe(0);
    const workers = [work("w1"), work("w2")];
    for (const one of workers) await one.says('"started"');
    expect(say("enqueue", "--run", "run", "--type", "x", "--id", "t.1").status).toBe(0);
    await until("it has begun", () => existsSync(join(folder, "begun")));
    await remove(run);
    for (const one of workers) {
      const { status, stderr } = await one.end();
      expect({ status, stderr }).toMatchObject({
        status: 3,
        stderr: expect.not.stringContaining("bug"),
      });
      expect(stderr).toContain("is gone");
    }
    const handler = Number(readFileSync(join(folder, "begun"), "utf8"));
    await until("its handler has ended", () => !isAlive(handler));
    expect(existsSync(run)).toBe(false);
  });
});

it("a .viv/ that a worker wrote while the run was being removed goes with the worker", async () => {
  const { run, say, work } = farm();
  expect(say("init", "run").status).toBe(0);
  const worker = work("w1");
  await worker.says('"started"');
  // As rm -rf leaves it when a worker has put a file below a folder that it has just emptied. The
  // worker is stopped meanwhile, or it could have ended before the file is there.
  worker.child.kill("SIGSTOP");
  await remove(run);
  mkdirSync(join(run, ".viv/lanes"), { recursive: true });
  writeFileSync(join(run, ".viv/lanes/normal.log"), "");
  worker.child.kill("SIGCONT");
  expect((await worker.end()).status).toBe(3);
  expect(existsSync(run)).toBe(false);
});

it("a .viv/ that a person left behind, with tasks, stays", async () => {
  const { folder, run, say, work } = farm();
  expect(say("pit", "init", "run").status).toBe(0);
  expect(
    say("enqueue", "--run", "run", "--type", "x", "--id", "t.1", "--not-before", "1h").status,
  ).toBe(0);
  const worker = work("w1");
  await worker.says('"started"');
  execFileSync("sh", ["-c", `mkdir away && mv run/* away/`], { cwd: folder });
  expect((await worker.end()).status).toBe(3);
  expect(existsSync(join(run, ".viv/ids"))).toBe(true);
});

it("a part that dies while the run is away for a moment starts again", async () => {
  const { folder, run, start, say } = farm();
  const toml = 'run = "run"\n[workers]\ncount = 1\n[handlers.default]\nhandler = "./handle.sh"\n';
  writeFileSync(join(folder, "viv.toml"), toml);
  const up = start("up", "--no-server", "--json");
  await up.says('"ready"');
  const worker = () => {
    const { parts } = JSON.parse(say("ps", "--json").stdout) as { parts: Part[] };
    return parts.find(({ name }) => name === "worker-1");
  };
  const pid = worker()?.pid;
  if (!pid) throw new Error("worker-1 has no process");
  renameSync(run, `${run}.away`);
  process.kill(pid, "SIGKILL");
  await up.says(/"gone".*worker-1/);
  renameSync(`${run}.away`, run);
  await until("it is back", () => {
    const now = worker();
    return now?.state === "idle" && now.pid !== pid;
  });
  up.child.kill("SIGTERM");
  expect((await up.end()).status).toBe(0);
});

it("viv up starts no worker again for a run that is gone", async () => {
  const { folder, run, start } = farm();
  writeFileSync(
    join(folder, "viv.toml"),
    'run = "run"\n[workers]\ncount = 2\n[handlers.default]\nhandler = "./handle.sh"\n[[notify]]\non = ["done"]\ncommand = ["cat"]\n',
  );
  const up = start("up", "--no-server", "--json");
  await up.says('"ready"');
  await remove(run);
  expect(await up.end()).toMatchObject({ status: 3 });
  expect(existsSync(run)).toBe(false);
});
