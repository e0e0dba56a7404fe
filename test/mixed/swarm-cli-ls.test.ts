import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join, relative } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { idsIn, swarm, swarmCli } from "./company.ts";
import { cli, folder, printed, refused, run, SILENT, useNewRun } from "./swarm-cli.ts";

beforeEach(useNewRun);

describe("ls", () => {
  /** Two runs below one folder: `beta` has seen work, `alpha` is not even a run. */
  async function twoRuns(): Promise<string> {
    const beta = join(folder, "root/beta");
    await swarm(beta, "init", ["other-name"]);
    await swarm(beta, "enqueue", ["t.1"], ["t.2"], ["t.3"], ["t.4"]);
    await swarm(beta, "claim", ["w.1"], ["w.1"], ["w.2"]);
    await swarm(beta, "complete", ["w.1", "t.1"]);
    await swarm(beta, "complete", ["w.2", "t.3", "failed"]);
    await swarmCli([
      "status-write",
      "--run-dir",
      beta,
      "--summary",
      "s",
      "--next-step",
      "look on",
      "--next-task-id",
      "t.4",
    ]);
    mkdirSync(join(folder, "root/alpha"));
    writeFileSync(join(folder, "root/file"), "");
    return join(folder, "root");
  }

  test("shows a run as text and as JSON", async () => {
    const root = await twoRuns();
    const beta = [
      `beta  ${root}/beta`,
      "  pending=1  claimed=1  done=1  failed=1",
      "    in flight: w.1 (1)",
      "  next: t.4  look on",
      "  last completed: t.1  (1 total)",
    ];
    expect(await swarmCli(["ls", "--run-dir", join(root, "beta")])).toEqual(printed(...beta));
    expect(await swarmCli(["ls", "--run-dir", join(root, "beta"), "--json"])).toEqual(
      printed(`[
  {
    "run_dir": "${root}/beta",
    "run_id": "beta",
    "exists": true,
    "pending": 1,
    "claimed_by_worker": {
      "w.1": 1
    },
    "done": 1,
    "failed": 1,
    "next_step": "look on",
    "next_task_id": "t.4",
    "last_completed": "t.1",
    "current_worker": null,
    "completed_count": 1,
    "waiting": 0,
    "review": 0,
    "quarantine": 0
  }
]`),
    );
    const alpha = [`alpha  ${root}/alpha`, "  pending=0  claimed=0  done=0  failed=0"];
    expect(await swarmCli(["ls", "--root", root])).toEqual(printed(...alpha, "", ...beta));
    expect(readdirSync(join(root, "alpha"))).toEqual([]);
  });

  test("shows waiting, review and quarantine, where there are any", async () => {
    const store = await openRun(run, { create: true, durability: "fast" });
    await store.enqueue({ id: "w", type: "t", not_before: "+1h" });
    await store.enqueue({ id: "r", type: "t", review: true });
    await store.claim({ worker: "w.1" });
    await store.complete({ id: "r", worker: "w.1" });
    await store.close();
    writeFileSync(join(run, "quarantine/x.json"), "{");
    writeFileSync(join(run, "quarantine/x.json.reason"), "broken");
    expect((await cli("ls")).stdout.split("\n")[1]).toBe(
      "  pending=0  claimed=0  done=0  failed=0  waiting=1  review=1  quarantine=1",
    );
    expect(JSON.parse((await cli("ls", "--json")).stdout)).toMatchObject([
      { pending: 0, waiting: 1, review: 1, quarantine: 1 },
    ]);
  });

  test("shows a run that is not there", async () => {
    const { code, stdout } = await cli("ls", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ run_id: "run", exists: false, next_step: null }]);
    expect(existsSync(run)).toBe(false);
  });

  test("a next step alone, and one with codes for a terminal", async () => {
    const step = "look \u001b]0;title\u0007\u001b[31mred";
    await cli("status-init", "--run-id", "r", "--next-step", step);
    expect((await cli("ls", "--no-color")).stdout.split("\n")[2]).toBe(
      "  next: look ]0;title[31mred",
    );
  });

  test("without --run-dir it looks in ~/.swarm", async () => {
    const env = { HOME: folder };
    const root = join(folder, ".swarm");
    const hint = "pass --run-dir to summarize a specific run";
    expect(await swarmCli(["ls"], env)).toEqual(refused(1, `no swarm root at ${root}; ${hint}\n`));
    const { code, stdout } = await swarmCli(["ls", "--json"], env);
    expect(code).toBe(1);
    expect(stdout).toBe(`{\n  "error": "no swarm root at ${root}",\n  "hint": "${hint}"\n}\n`);
    mkdirSync(root);
    expect(await swarmCli(["ls"], env)).toEqual(refused(0, `no runs under ${root}\n`));
    expect(await swarmCli(["ls", "--json"], env)).toEqual(printed("[]"));
    mkdirSync(join(root, "a"));
    expect((await swarmCli(["ls"], env)).stdout).toBe(
      `a  ${root}/a\n  pending=0  claimed=0  done=0  failed=0\n`,
    );
  });
});

describe("the command line", () => {
  test("expands ~ in --run-dir=~/…, which no shell does", async () => {
    const args = ["enqueue", "--run-dir=~/runs/a", "--task-id=t.1", "--task-type=x"];
    expect(await swarmCli(args, { HOME: folder })).toEqual(SILENT);
    expect(idsIn(join(folder, "runs/a"), "pending")).toEqual(["t.1"]);
  });

  test("expands ~user, and says when there is no such user", async () => {
    const user = userInfo().username;
    const home = userInfo().homedir;
    const far = relative(home, run);
    const { code, stdout } = await swarmCli(["ls", "--run-dir", `~${user}/${far}`, "--json"]);
    expect({ code, dir: JSON.parse(stdout)[0].run_dir }).toEqual({ code: 0, dir: run });
    for (const nobody of ["~nobody-here-17/x", "~$(id)/x"]) {
      const said = await swarmCli(["ls", "--run-dir", nobody]);
      expect(said).toMatchObject({ code: 1, stdout: "" });
      expect(said.stderr).toMatch(
        /^error: there is no user .+; write the path of the run in full\n$/,
      );
    }
  });

  test("refuses what is not complete, as argparse does", async () => {
    expect(await swarmCli(["claim", "--run", run])).toEqual(
      refused(
        2,
        `usage: swarm-cli claim [-h] --run-dir RUN_DIR --worker-id WORKER_ID
                       [--task-type-filter TASK_TYPE_FILTER]
swarm-cli claim: error: the following arguments are required: --worker-id
`,
      ),
    );
    expect(existsSync(run)).toBe(false);
  });

  test("knows its commands", async () => {
    const { code, stderr } = await swarmCli(["clam"]);
    expect(code).toBe(2);
    expect(stderr).toBe(
      "usage: swarm-cli [-h] COMMAND ...\n" +
        "swarm-cli: error: argument COMMAND: invalid choice: 'clam' (choose from 'enqueue', 'claim', " +
        "'complete', 'status-init', 'status-show', 'status-write', 'heartbeat', 'reap', 'ls')\n",
    );
  });

  test("explains itself", async () => {
    const all = await swarmCli(["--help"]);
    expect({ code: all.code, stderr: all.stderr }).toEqual({ code: 0, stderr: "" });
    expect(all.stdout).toMatch(
      /^usage: swarm-cli \[-h\] COMMAND \.\.\.\n\n[\s\S]+\n {4}status-init {9}\S/,
    );
    const one = await swarmCli(["reap", "-h"]);
    expect(one.code).toBe(0);
    expect(one.stdout).toMatch(
      /^usage: swarm-cli reap \[-h\] --run-dir RUN_DIR \[--stale-after STALE_AFTER\]\n\noptions:\n {2}-h, --help/,
    );
  });
});
