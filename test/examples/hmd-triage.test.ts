import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { putClaude } from "./claude.ts";
import { Example, edit } from "./example.ts";

const REQUESTS = Array.from({ length: 12 }, (_, i) => `req.${String(i + 1).padStart(2, "0")}`);
const HARD = ["req.03", "req.06", "req.09", "req.12"];

interface Costs {
  rows: { key: string; usd: number; attempts: number; proven: number; usd_per_proven: number }[];
  total: { usd: number; reported: number; imputed: number; unpriced_tokens: number };
}

/** Which models worked on a task, attempt by attempt. */
async function modelsOf(example: Example, task: string): Promise<string[]> {
  const { ledger } = await example.json<{
    ledger: { event: string; models?: { model: string }[] }[];
  }>("show", task);
  return ledger
    .filter(({ event }) => event === "usage")
    .map(({ models = [] }) => models.map(({ model }) => model).join("+"));
}

describe("examples/hmd-triage", () => {
  it("answers the routine cheaply, hands over the hard, and escalates what is not proven", async () => {
    const example = new Example("hmd-triage");
    const { status, stdout, stderr } = example.run();
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const readme = readFileSync(join(example.folder, "README.md"), "utf8");
    expect(stdout).toContain(/```text\n([\s\S]*?)```/.exec(readme)?.[1]);

    expect(await example.counts()).toEqual({ done: 16 });
    for (const id of [...REQUESTS, ...HARD.map((hard) => `${hard}.solve`)]) {
      const { state, proof } = await example.show(id);
      expect({ id, state, exit: proof?.exit }).toEqual({ id, state: "done", exit: 0 });
    }

    // The hard ones are children, and ran on the dear tier alone.
    for (const id of HARD) {
      const { task } = await example.show(`${id}.solve`);
      expect(task).toMatchObject({ parent: id, tier_hint: "large", depends_on: [id] });
      expect(await modelsOf(example, `${id}.solve`)).toEqual(["opus"]);
    }
    const artifact = (id: string) =>
      readFileSync(join(example.work, `run/artifacts/${id}.md`), "utf8");
    const refunds = HARD.map((id) => /^Refund: (.*)$/m.exec(artifact(`${id}.solve`))?.[1]);
    expect(refunds).toEqual(["19.90", "25.00", "10.00", "0.00"]);

    // One answer was not proven; its next attempt was the next tier's.
    for (const id of REQUESTS) {
      const models = id === "req.05" ? ["haiku", "opus"] : ["haiku"];
      expect(await modelsOf(example, id), id).toEqual(models);
    }
    const { history, proof } = await example.show("req.05");
    expect(history.map(({ outcome }) => outcome)).toEqual(["unproven", "done"]);
    expect(history[0]?.note).toContain("2 asked, 1 answered");
    expect(proof?.output).toContain("2 asked, 2 answered");

    const { rows, total } = await example.json<Costs>("costs", "--by", "model");
    expect(rows.map(({ key, attempts, proven }) => ({ key, attempts, proven }))).toEqual([
      { key: "opus", attempts: 5, proven: 5 },
      { key: "haiku", attempts: 12, proven: 11 },
    ]);
    const [opus, haiku] = rows.map((row) => row.usd_per_proven);
    expect(opus).toBeGreaterThan(5 * (haiku ?? 0));
    expect(total).toMatchObject({ reported: 0, unpriced_tokens: 0 });
    expect(total.imputed).toBeCloseTo(total.usd);

    const pasted = example.paste();
    expect(pasted).toMatchObject({ status: 0, stderr: "" });
    for (const text of ["Refund: 25.00", "unproven → waiting", "Source: Delivery"]) {
      expect(pasted.stdout).toContain(text);
    }
    expect(await example.counts()).toEqual({ done: 17 });
  });

  it("fails when an answer is not what the books say", async () => {
    const example = new Example("hmd-triage");
    // Forgets what was paid back already.
    edit(join(example.folder, "stand-in/solve.toml"), "paid -= $4", "paid -= 0");
    edit(join(example.folder, "requests.jsonl"), /^.*"req\.(?!06).*\n/gm, "");
    const { status, stderr } = example.run();
    expect(status).not.toBe(0);
    expect(stderr).toContain("req.06.solve is failed");
    const { history, proof } = await example.show("req.06.solve");
    expect(history.map(({ outcome }) => outcome)).toEqual(["unproven", "unproven"]);
    expect(proof).toMatchObject({ exit: 1, output: expect.stringContaining("Refund: 25.00\n") });
  });

  it("fails when an answer has a source that is none, on every tier", async () => {
    const example = new Example("hmd-triage");
    edit(join(example.folder, "stand-in/answer.sh"), '"Source: $title"', '"Source: the $title"');
    edit(join(example.folder, "requests.jsonl"), /^.*"req\.(?!08).*\n/gm, "");
    expect(example.run().status).not.toBe(0);
    expect(await modelsOf(example, "req.08")).toEqual(["haiku", "opus", "opus"]);
    const output = expect.stringContaining('the handbook has no "the Gift card"');
    expect(await example.show("req.08")).toMatchObject({
      state: "failed",
      proof: { exit: 1, output },
    });
  });

  it("runs with a real engine when one line of each route is changed", async () => {
    const example = new Example("hmd-triage");
    edit(join(example.folder, "viv.toml"), /^engine = "script".*$/gm, 'engine = "claude"');
    edit(join(example.folder, "requests.jsonl"), /^.*"req\.(?!03|04).*\n/gm, "");
    const solve = readFileSync(join(example.folder, "stand-in/solve.toml"), "utf8");
    const [, sum = "exit 1"] = /'''\n([\s\S]*?)'''/.exec(solve) ?? [];
    putClaude(
      example,
      `if [ "$VIV_TASK_TYPE" = triage ]; then
         stand-in/classify.sh
         if grep -q hard "$VIV_ARTIFACT_PATH"; then ./hand-over.sh; fi
         stand-in/answer.sh 9
       else
         ${sum}
       fi`,
    );
    const { status, stdout, stderr } = example.run();
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout).toContain("$0.75 reported by the vendors, $0.00 imputed");

    expect(await example.counts()).toEqual({ done: 3 });
    const [small, large] = ["claude-haiku-9-20260101", "claude-opus-9-20260101"];
    expect(await modelsOf(example, "req.03")).toEqual([small]);
    expect(await modelsOf(example, "req.04")).toEqual([small]);
    expect(await modelsOf(example, "req.03.solve")).toEqual([large]);
    expect(example.asked("req.03.solve")).toContain("> Order 1007: I believe I was charged twice.");
  });
});
