import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { noTerminal, Running, stripColors, terminal, viv } from "./support.ts";

/** `viv demo --no-page`: the demo in the terminal. The fleet with its page: test/web/demo.test.ts. */

let tmp: string;
beforeEach(() => {
  tmp = newFolder();
});

/** Processes whose command line mentions the text, as /proc has them. */
function processes(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
      } catch {
        return false; // it ended while we looked
      }
    });
}

function theRun(): string {
  const [folder = ""] = readdirSync(tmp).filter((name) => name.startsWith("viv-demo-"));
  return join(tmp, folder, "run");
}

const options = () => ({ env: { TMPDIR: tmp } });

describe("viv demo --no-page --quick", () => {
  it("ends well, says what happened, and leaves a run to look at and no process", () => {
    const { status, stdout, stderr } = viv(["demo", "--no-page", "--quick"], options());
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout).toMatch(/enqueued 16 tasks/);
    for (const worker of ["ada", "bob", "cyd"])
      expect(stdout).toMatch(new RegExp(`started worker ${worker} \\(pid \\d+\\)`));
    const killed = /kill -9 worker (\w+), in the middle of (\S+)/.exec(stdout);
    if (!killed) throw new Error(`nobody was killed: ${stdout}`);
    const [, worker, task] = killed;
    expect(stdout).toMatch(new RegExp(`recovered ${task}`));
    expect(stdout).toContain("17 of 17 tasks are done, each exactly once.");
    expect(stdout).toMatch(
      new RegExp(`${worker} was killed while it held ${task}; \\w+ did it in attempt 2\\.`),
    );
    expect(stdout).toContain("102 words in 16 parts");
    expect(stdout).toContain("doctor: healthy");
    expect(stdout).not.toContain("\u001b");
    expect(stdout).not.toMatch(/\S +# /); // zsh takes a pasted comment for arguments

    const run = theRun();
    expect(stdout).toContain(run);
    expect(readdirSync(join(run, "done"))).toHaveLength(17);
    expect(processes(run)).toEqual([]);
    expect(viv(["doctor", "--run", run]).status).toBe(0);
    const { history } = JSON.parse(viv(["show", "--run", run, task ?? "", "--json"]).stdout);
    expect(history.map((one: { outcome: string }) => one.outcome)).toEqual(["abandoned", "done"]);
  });

  it("refuses flags that it does not know", () => {
    const said = viv(["demo", "--no-page", "--qiuck"], options());
    expect(said).toMatchObject({ status: 2, stdout: "" });
    expect(said.stderr).toContain("--qiuck");
    expect(viv(["demo", "--no-page", "--help"]).stdout).toContain("viv demo --no-page [--quick]");
    expect(readdirSync(tmp)).toEqual([]);
  });

  it.skipIf(noTerminal)("has a live board on a terminal, and fits it", () => {
    const text = terminal("viv demo --no-page --quick; echo status $?", 80, options());
    expect(text).toContain("status 0");
    expect(text).toMatch(/\d+\/17 done/);
    expect(text).toContain("17 of 17 tasks are done");
    const board = stripColors(text)
      .split("\n")
      .filter((line) => line.includes("/17 done"));
    for (const line of board) expect([...line].length).toBeLessThanOrEqual(80);
    expect(processes(theRun())).toEqual([]);
  });
});

describe.each(["SIGINT", "SIGTERM"] as const)("%s in the middle", (signal) => {
  it("stops the workers, and says where the run is", async () => {
    const demo = new Running(["demo", "--no-page"], options());
    await demo.says("started worker cyd");
    const run = theRun();
    await until("a worker is at work", () => {
      const claimed = join(run, "claimed");
      return readdirSync(claimed).some((worker) =>
        readdirSync(join(claimed, worker)).some((name) => name.endsWith(".json")),
      );
    });
    expect(processes(run).length).toBeGreaterThan(0);
    demo.child.kill(signal);
    const { status, stdout, stderr } = await demo.end();
    expect(stderr).toBe("");
    expect(status).toBe(130);
    expect(stdout).toContain(`stopped; the run is still there: viv ls --run ${run}`);
    expect(processes(run)).toEqual([]);
    expect(existsSync(join(run, "pending"))).toBe(true);
    // What was in work when it stopped is finished or can be taken back: nothing is lost.
    const { counts } = JSON.parse(viv(["ls", "--run", run, "--json"]).stdout);
    const all = Object.values(counts as Record<string, number>).reduce((sum, n) => sum + n, 0);
    expect(all).toBe(17);
  });
});

it("a demo that is killed leaves no workers behind", async () => {
  const demo = new Running(["demo", "--no-page"], options());
  await demo.says("started worker cyd");
  const run = theRun();
  await until("workers are there", () => processes(run).length === 3);
  const gone = once(demo.child, "exit");
  demo.child.kill("SIGKILL");
  await gone;
  try {
    await until("the workers end", () => processes(run).length === 0);
  } finally {
    for (const pid of processes(run)) process.kill(pid, "SIGKILL");
  }
});
