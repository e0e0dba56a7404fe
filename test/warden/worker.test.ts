import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../support/deadline.ts";
import { DIST } from "../support/processes.ts";
import { isAlive, pidsIn, textIn } from "../support/tmux.ts";
import { Scene } from "./support.ts";

it("a worker whose handler hangs: its task goes back, and its attempt names the receipt", async () => {
  const scene = new Scene();
  const run = join(scene.folder, "run");
  const pids = join(scene.folder, "pids");
  const viv = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(DIST, "viv.cjs"), ...args, "--run", run],
      { cwd: scene.folder, encoding: "utf8" },
    );
    expect([status, stderr]).toEqual([0, ""]);
    return stdout;
  };
  const handler = join(scene.folder, "handler.sh");
  writeFileSync(handler, `#!/bin/sh\necho $$ >>'${pids}'\nexec sleep 600\n`, { mode: 0o755 });
  spawnSync(process.execPath, [join(DIST, "viv.cjs"), "init", run], { cwd: scene.folder });
  viv("enqueue", "--type", "t", "--id", "a");
  const args = ["work", "--worker-id", "w1", "--handler", handler, "--run", run];
  const worker = spawn(process.execPath, [join(DIST, "viv.cjs"), ...args], {
    ...{ cwd: scene.folder, stdio: "ignore" },
  });
  onTestFinished(() => void worker.kill("SIGKILL"));
  const [hung = -1] = await pidsIn(pids, 1);
  viv("warrant", "file", "--worker", "w1", "--reason", "hangs", "--state", scene.state);
  scene.up("--timeouts", "300ms,300ms,300ms");
  expect(await scene.verdicts("w1")).toEqual(["executed"]);
  await until("its claims are reaped", () => scene.receipt("w1")?.reaped.includes("a") === true);
  expect([worker.pid ?? -1, hung].filter(isAlive)).toEqual([]);
  const receipt = join(scene.state, "completed", `${scene.receipt("w1")?.dog}.json`);
  const task = JSON.parse(viv("show", "a", "--json"));
  expect(task).toMatchObject({ state: "pending", history: [{ outcome: "abandoned", receipt }] });
  expect(textIn(receipt)).toContain('"verdict": "executed"');
});
