import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { putClaude } from "./claude.ts";
import { Example, edit } from "./example.ts";

describe("examples/overnight-digest", () => {
  it("waits, is turned away, fails, and is proven and approved in the end", async () => {
    const example = new Example("overnight-digest");
    const { status, stdout, stderr } = example.run();
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout).toContain("proven and approved");

    expect(await example.counts()).toEqual({ done: 1 });
    const { history, proof } = await example.show("digest.monday");
    expect(history.map(({ outcome, to }) => `${outcome} → ${to}`)).toEqual([
      "rate_limited → waiting",
      "failed → waiting",
      "done → review",
    ]);
    expect(proof).toMatchObject({ exit: 0, attempt: 3 });
    const digest = readFileSync(join(example.work, "run/artifacts/digest.monday.md"), "utf8");
    expect(digest).toContain("Weather: cloudy, 7 degrees");
    const notes = join(example.work, "notes");
    expect(readdirSync(notes)).toHaveLength(3);
    for (const note of readdirSync(notes)) {
      const [title] = readFileSync(join(notes, note), "utf8").split("\n");
      expect(digest).toContain(`## ${title}\n`);
    }

    // The README's way for a real night.
    const pasted = example.paste();
    expect(pasted).toMatchObject({ status: 0, stderr: "" });
    expect(pasted.stdout).toMatch(/not before .* \(in (8h|7h)/);
    expect(pasted.stdout).toContain("systemctl --user enable --now viv-worker-run.service");
    expect(await example.counts()).toEqual({ done: 1, waiting: 1 });
  });

  it("runs with a real engine when the README's two lines are in the place of the handler", async () => {
    const example = new Example("overnight-digest");
    const readme = readFileSync(join(example.folder, "README.md"), "utf8");
    const [, lines = ""] = /^```toml\n([\s\S]*?)^```$/m.exec(readme) ?? [];
    edit(join(example.folder, "viv.toml"), /^handler = .*\n/gm, lines);
    putClaude(example, "until ./digest.sh; do :; done");
    expect(example.run()).toMatchObject({ status: 0, stderr: "" });
    expect(await example.show("digest.monday")).toMatchObject({
      state: "done",
      proof: { attempt: 1 },
    });
    expect(example.asked("digest.monday")).toContain("Write a digest of the day");
  });

  it("fails when the digest leaves something out", async () => {
    const example = new Example("overnight-digest");
    const handler = join(example.folder, "digest.sh");
    writeFileSync(handler, readFileSync(handler, "utf8").replace("notes/*.txt", "notes/b*.txt"));
    const { status } = example.run();
    expect(status).not.toBe(0);
    expect(await example.show("digest.monday")).toMatchObject({
      state: "failed",
      proof: { exit: 1 },
    });
  });
});
