import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { putClaude } from "./claude.ts";
import { Example, edit } from "./example.ts";

const STEPS = ["intent", "plan", "implement", "review", "verify", "classify", "incentive"];

interface Node {
  id: string;
  state: string;
  children: Node[];
}

describe("examples/seven-step-chain", () => {
  it("ends with seven proven steps, each the child of the one before", async () => {
    const example = new Example("seven-step-chain");
    const { status, stdout, stderr } = example.run();
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout).toContain("seven steps, all proven");
    const readme = readFileSync(join(example.folder, "README.md"), "utf8");
    expect(stdout).toContain(/```text\n([\s\S]*?)```/.exec(readme)?.[1]);

    expect(await example.counts()).toEqual({ done: 7 });
    for (const step of STEPS) {
      const { state, proof } = await example.show(`hello.${step}`);
      expect({ step, state, exit: proof?.exit }).toEqual({ step, state: "done", exit: 0 });
    }
    const { families } = await example.json<{ families: Node[] }>("tree");
    expect(families).toHaveLength(1);
    const chain: string[] = [];
    for (let node = families[0]; node; node = node.children[0]) {
      expect(node.children.length).toBeLessThanOrEqual(1);
      chain.push(node.id);
    }
    expect(chain).toEqual(STEPS.map((step) => `hello.${step}`));

    // The work is on branches, and there are artifacts and a checkpoint.
    const app = join(example.work, "app");
    const git = (...args: string[]) => execFileSync("git", ["-C", app, ...args]).toString();
    for (const branch of ["implement", "verify"]) {
      expect(git("show", `viv/hello.${branch}@run:greet.sh`)).toContain("Hello, $");
    }
    expect(git("show", "main:greet.sh")).not.toContain("Hello, $");
    const artifact = (step: string) =>
      readFileSync(join(example.work, `run/artifacts/hello.${step}.md`), "utf8");
    expect(artifact("intent")).toContain("Wish: greet people by name");
    expect(artifact("incentive")).toContain("Points: 6");
    const last = await example.json<{ status: { checkpoint: { summary: string } } }>("status");
    expect(last.status.checkpoint.summary).toBe("Seven steps done, 6 points");
    const pasted = example.paste();
    expect(pasted).toMatchObject({ status: 0, stderr: "" });
    for (const text of ["$ sh test.sh", "Points: 6", "Merge hello", "viv/hello.verify@run"]) {
      expect(pasted.stdout).toContain(text);
    }
  });

  it("runs with a real engine when one line is changed", async () => {
    const example = new Example("seven-step-chain");
    edit(join(example.folder, "viv.toml"), /^engine = "script".*$/gm, 'engine = "claude"');
    putClaude(example, '"$VIV_RUN/../steps/implement.sh"');
    expect(example.run()).toMatchObject({ status: 0, stderr: "" });
    expect(await example.counts()).toEqual({ done: 7 });
    expect(example.asked("hello.implement")).toContain("1. Change greet.sh, and only that.");
  });

  it("fails when a step does not hold what it says", async () => {
    const example = new Example("seven-step-chain");
    const step = join(example.folder, "steps/implement.sh");
    writeFileSync(step, readFileSync(step, "utf8").replace("Hello, $", "Hullo, $"));
    const { status, stderr } = example.run();
    expect(status).toBe(1);
    expect(stderr).toContain("hello.implement is failed");
    expect(await example.counts()).toEqual({ done: 2, failed: 1, waiting: 1 });
    const { history, proof } = await example.show("hello.implement");
    expect(history.map(({ outcome }) => outcome)).toEqual(["unproven", "unproven"]);
    expect(proof).toMatchObject({ exit: 1, output: "it does not greet Ada\n" });
  });
});
