import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newForge, REPO, runWith } from "../support/forge/new-forge.ts";
import { cli, controlCodes, json, ok, stripColors } from "./support.ts";

/** `viv pr`, `viv sync` and `viv import` as they are typed, with a stand-in gh in PATH. */

async function scene(...ids: string[]) {
  const forge = newForge();
  const { store, path } = await runWith(forge, ...ids);
  await store.close();
  const around = { cwd: forge.repository, env: { ...forge.env, VIV_RUN: path } };
  return { forge, path, around };
}

describe("viv pr", () => {
  it("opens pull requests, and says where they are", async () => {
    const { forge, around } = await scene("t.1", "t.2");
    const url = (n: number) => `https://github.com/${REPO.owner}/${REPO.name}/pull/${n}`;
    expect(await ok(["pr", "t.1"], around)).toBe(`open  t.1  ${url(1)}\n`);
    expect(await json(["pr", "--all"], around)).toEqual({
      tasks: [
        {
          id: "t.2",
          type: "write",
          state: "done",
          landing: "pull_request",
          url: url(2),
          number: 2,
        },
      ],
    });
    expect(await ok(["pr", "--all"], around)).toBe("no done task has commits that are due\n");
    expect(forge.state().pulls).toHaveLength(2);
  });

  it("only shows what would be done with --dry-run", async () => {
    const { forge, around } = await scene("t.1");
    const said = await ok(["pr", "t.1", "--dry-run"], around);
    expect(said).toMatch(
      /^t\.1: push [0-9a-f]{12} to origin as viv\/t\.1@run; open a pull request into main of github\.com\/acme\/app\n/,
    );
    expect(said).toContain("  - Proof: none; the task has no `done_when`");
    expect(forge.state().pulls).toEqual([]);
    expect(forge.commitOf("viv/t.1@run")).toBeNull();
  });

  it("tells once that it is held, where [[notify]] asks for it", async () => {
    const { forge, around } = await scene("t.1");
    const heard = join(forge.folder, "heard");
    const tell = JSON.stringify(["sh", "-c", `cat >> '${heard}'`]);
    const notify = `[[notify]]\non = ["needs_you", "pr_opened"]\ncommand = ${tell}\n`;
    writeFileSync(join(forge.repository, "viv.toml"), notify);
    forge.days({ on: ".", kind: "offline", times: 2 });
    for (const status of [5, 5, 0]) expect((await cli(["pr", "t.1"], around)).status).toBe(status);
    const lines = readFileSync(heard, "utf8").trim().split("\n");
    const texts = lines.map((line) => JSON.parse(line).text as string);
    expect(texts).toEqual([
      expect.stringMatching(/^t\.1 cannot land now: gh cannot reach the forge/),
      expect.stringMatching(/^t\.1 has a pull request: https:/),
    ]);
  });

  it("exits with 5 when it is held, with the reason and the command", async () => {
    const { forge, around } = await scene("t.1");
    forge.days({ on: ".", kind: "login" });
    const { status, stdout } = await cli(["pr", "t.1"], around);
    expect(status).toBe(5);
    expect(stdout).toBe("held  t.1    gh is not logged in; run: gh auth login\n  gh auth login\n");
  });

  it.each([
    [["pr"], 2, "which tasks? Name them"],
    [["pr", "t.1", "--all"], 2, "which tasks? Name them"],
    [["pr", "nope"], 3, "there is no task nope"],
    [["pr", "t.1", "t.2", "--title", "x"], 2, "--title goes with one task"],
    [["sync", "nope"], 3, "there is no task nope"],
    [["import", "--from", "svn"], 2, "gh"],
    [["import"], 2, "--from"],
    [["import", "--from", "gh", "--label", ""], 2, "--label is empty"],
  ])("refuses in words: viv %j", async (args, code, words) => {
    const { around } = await scene("t.1");
    const { status, stderr } = await cli(args, around);
    expect(stderr).toContain(words);
    expect(status).toBe(code);
  });

  it("names a mistake in [merge]", async () => {
    const { forge, around } = await scene("t.1");
    writeFileSync(join(forge.repository, "viv.toml"), '[merge]\nforge = "github"\nrepo = "x"\n');
    const { status, stderr } = await cli(["pr", "t.1"], around);
    expect(stderr).toContain('viv.toml:2: forge must be "gh" or "glab"');
    expect(stderr).toContain('viv.toml:3: repo must be a repository on a forge like "owner/name"');
    expect(status).toBe(2);
  });
});

describe('viv merge with via = "pr"', () => {
  it("opens pull requests instead of merging, in order, and asks a dead forge once", async () => {
    const { forge, around } = await scene("t.1", "t.2");
    writeFileSync(join(forge.repository, "viv.toml"), '[merge]\nvia = "pr"\ninto = "main"\n');
    forge.days({ on: ".", kind: "offline" });
    await cli(["merge", "--all"], around);
    expect(forge.calls()).toHaveLength(1);
    const held = await json<{ landings: object[] }>(["merge", "--status"], around);
    expect(held.landings).toMatchObject([{ landing: "held" }, { landing: "held" }]);
    const before = forge.commitOf("main");
    await cli(["merge", "--all"], around);
    expect(forge.state().pulls).toMatchObject([
      { branch: "viv/t.1@run" },
      { branch: "viv/t.2@run" },
    ]);
    expect(forge.commitOf("main")).toBe(before);
    await cli(["merge", "--all"], around);
    expect(forge.state().pulls).toHaveLength(2);
  });
});

describe("viv sync", () => {
  it("says what became of them, also on a narrow terminal", async () => {
    const { forge, around } = await scene("t.1", "t.2");
    expect(await ok(["sync"], around)).toBe("no pull requests to read back\n");
    await ok(["pr", "t.1", "t.2"], around);
    const commit = forge.merge(1);
    forge.change(({ pulls }) => Object.assign(pulls[1] ?? {}, { state: "closed" }));
    const said = stripColors(await ok(["sync"], { ...around, columns: 60 }));
    expect(said).toContain(`as ${commit.slice(0, 12)}`);
    expect(said).toMatch(/closed +t\.2/);
    expect(said.split("\n").every((line) => line.length <= 60)).toBe(true);
    expect(await json(["sync"], around)).toEqual({ tasks: [] });
  });

  it("exits with 5 without a network", async () => {
    const { forge, around } = await scene("t.1");
    await ok(["pr", "t.1"], around);
    forge.days({ on: ".", kind: "offline" });
    const { status, stdout } = await cli(["sync", "--json"], around);
    expect(status).toBe(5);
    expect(JSON.parse(stdout)).toMatchObject({ tasks: [], held: { reason: expect.any(String) } });
  });
});

describe("viv import", () => {
  it("makes tasks of issues, whose texts command no terminal", async () => {
    const { forge, around } = await scene();
    forge.change(({ issues }) => {
      const evil = "Clear\u001b[2J the \u202e screen";
      const one = { body: "", login: "alice", labels: ["agent"], comments: [] };
      issues.push({ ...one, number: 12, title: evil });
      issues.push({ ...one, number: 13, title: "No", login: "mallory" });
    });
    const args = ["import", "--from", "gh"];
    const shown = await ok([...args, "--dry-run"], { ...around, columns: 100 });
    expect(stripColors(shown)).toMatch(/new +gh-12 +Clear\[2J the screen/);
    expect(shown).toContain("mallory may not write");
    expect(controlCodes(shown)).toEqual([]);
    expect(await json<{ tasks: object[] }>(args, around)).toMatchObject({
      tasks: [
        { id: "gh-12", type: "issue", state: "pending", did: "created", number: 12 },
        { id: "gh-13", state: null, did: "skipped" },
      ],
    });
    expect(await ok(["ls"], around)).toContain("gh-12");
    expect(await ok(["sync"], around)).toMatch(/^not landed +gh-12 +its task is pending\n$/);
  });

  it("shows what it would make before there is a run, and makes none", async () => {
    const { forge, around } = await scene();
    forge.change(({ issues }) => {
      const one = { body: "", login: "alice", labels: ["agent"], comments: [] };
      for (const number of [1, 2]) issues.push({ ...one, number, title: `Issue ${number}` });
    });
    const args = ["import", "--from", "gh", "--dry-run", "--limit", "1"];
    const run = join(forge.folder, "none-yet");
    for (const env of [forge.env, { ...forge.env, VIV_RUN: run }]) {
      const said = await ok(args, { ...around, env });
      expect(said).toMatch(
        /^new +gh-1 +Issue 1\n1 task would be made\nthere are more issues than 1;/,
      );
      expect(existsSync(run)).toBe(false);
    }
  });

  it("exits with 5 and says why when the forge cannot be asked", async () => {
    const { forge, around } = await scene();
    forge.days({ on: ".", kind: "offline" });
    const { status, stderr } = await cli(["import", "--from", "gh"], around);
    expect(stderr).toContain("gh cannot reach the forge");
    expect(status).toBe(5);
  });
});
