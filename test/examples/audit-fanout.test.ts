import { readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { putClaude } from "./claude.ts";
import { EXAMPLES, Example, edit } from "./example.ts";

const SERVICES = readdirSync(join(EXAMPLES, "audit-fanout/services")).map((file) =>
  basename(file, ".conf"),
);

/** As many of them are enough where all go the same way. */
function fewer(example: Example): void {
  for (const name of SERVICES.filter((one) => !["accounts", "cart"].includes(one))) {
    rmSync(join(example.folder, `services/${name}.conf`));
  }
}

describe("examples/audit-fanout", () => {
  it("audits sixteen files and puts all of them into one report", async () => {
    expect(SERVICES).toHaveLength(16);
    const example = new Example("audit-fanout");
    const { status, stdout, stderr } = example.run();
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout).toContain("seventeen tasks, all proven");

    expect(await example.counts()).toEqual({ done: 17 });
    const ids = SERVICES.map((name) => `audit.${name}`);
    for (const id of [...ids, "synthesis"]) {
      const { state, proof } = await example.show(id);
      expect({ id, state, exit: proof?.exit }).toEqual({ id, state: "done", exit: 0 });
    }
    expect((await example.show("synthesis")).task.depends_on.sort()).toEqual(ids.sort());
    const report = readFileSync(join(example.work, "run/artifacts/synthesis.md"), "utf8");
    for (const name of SERVICES)
      expect(report).toMatch(new RegExp(`^\\| ${name} \\| \\d \\|$`, "m"));
    expect(report).toContain("- services/payments.conf:4: has a password in it\n");
    expect(report).toContain("Findings in all: 12\n");

    const pasted = example.paste();
    expect(pasted).toMatchObject({ status: 0, stderr: "" });
    expect(pasted.stdout).toContain("- services/cart.conf:4: says too much\n");
    expect(await example.counts()).toEqual({ done: 18 });
  });

  it("fails when an audit cannot read its file", async () => {
    const example = new Example("audit-fanout");
    fewer(example);
    edit(join(example.folder, "run.sh"), '"payload":{"file":"%s"}', '"payload":{"file":"no/%s"}');
    expect(example.run().status).not.toBe(0);
    expect(await example.show("audit.cart")).toMatchObject({ state: "failed", proof: { exit: 2 } });
  });

  it("runs with a real engine when one line is changed", async () => {
    const example = new Example("audit-fanout");
    fewer(example);
    edit(join(example.folder, "viv.toml"), /^engine = "script".*$/gm, 'engine = "claude"');
    putClaude(example, "./audit.sh");
    expect(example.run()).toMatchObject({ status: 0, stderr: "" });
    expect(await example.counts()).toEqual({ done: 3 });
    expect(example.asked("audit.cart")).toContain("Read services/cart.conf, the settings");
  });
});
