import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { newFolder } from "../support/folders.ts";
import {
  newRepository,
  useGit,
  userGit,
  withoutSettings,
  write,
} from "../support/landing-world.ts";
import { cli, ok, type Surroundings, VIV } from "./support.ts";

/** From done to landed, as a user sees it: a real repository, a handler, workers and the queue. */

let folder: string;
let app: string;

const CONFIG = `
[handlers.default]
handler = "./handle.sh"
workspace = "worktree"
repository = "app"
max_attempts = 3
backoff = "1ms"
[merge]
into = "main"
`;

/** \`t.2\` changes the line that \`t.1\` changes; sent back, it resolves it at the second try. */
const HANDLER = `#!/bin/sh
case "$VIV_TASK_ID:$VIV_ATTEMPT" in
  t.1:1) printf 'one\\nT1\\nthree\\n' > file.txt;;
  t.2:1) printf 'one\\nT2\\nthree\\n' > file.txt;;
  t.2:2) cat "$VIV_EVIDENCE"; echo "$VIV_NOTE";;
  t.2:3) printf 'one\\nboth\\nthree\\n' > file.txt;;
  t.3:1) echo "$(cat file.txt)" > three.txt;;
esac
`;

const around = (): Surroundings => ({
  cwd: folder,
  env: { PATH: process.env.PATH, HOME: folder, XDG_STATE_HOME: join(folder, "state") },
});
const viv = (...args: string[]) => ok(args, around());
const json = async (...args: string[]) => JSON.parse(await viv(...args, "--json"));

beforeEach(async () => {
  withoutSettings();
  folder = newFolder();
  app = newRepository(join(folder, "app"));
  userGit(app, "switch", "--quiet", "--detach"); // so that main is checked out nowhere
  write(join(folder, "viv.toml"), CONFIG);
  write(join(folder, "handle.sh"), HANDLER, 0o755);
  await viv("init");
});

async function worked(...ids: string[]): Promise<void> {
  for (const id of ids) await viv("enqueue", "--type", "x", "--id", id);
  await viv("work", "--drain");
}

/** \`viv merge\` ends with 1 when not all has landed. */
const merged = (...args: string[]) => cli(["merge", ...args], around());

describe("from done to landed", () => {
  it("a conflict is work: sent back, resolved, landed; and every command knows it", async () => {
    await worked("t.1", "t.2", "t.4");
    expect(await viv("why", "t.1")).toContain(
      "done, not landed: its branch viv/t.1@run was not merged",
    );
    expect(await viv("why", "t.4")).toContain("no changes: its branch has no commits of its own");
    expect(await viv("ls")).not.toContain("landed");
    expect(await viv("workspaces")).toMatch(/t\.4 +viv\/t\.4@run .* no changes/);
    await merged("--all");
    expect(await viv("ls")).toMatch(/pending +sent back +t\.2/);
    expect(await viv("ls")).toMatch(/done +landed +t\.1/);
    expect(await viv("ls")).toMatch(/done +no changes +t\.4/);
    const sent = "sent back: conflict with main in file.txt (rework 1 of 2)";
    expect((await json("why", "t.2")).reasons[0]).toMatchObject({ code: "reworked", text: sent });

    await viv("enqueue", "--type", "x", "--id", "t.3", "--depends-on", "t.2");
    const said = await viv("work", "--drain");
    expect(said).toContain("unproven");
    expect(said).toContain("conflicts are left in file.txt");
    expect(readFileSync(join(folder, "run/workspaces/t.3/three.txt"), "utf8")).toContain("both");
    const evidence = readFileSync(join(folder, "run/artifacts/t.2.evidence/1.merge.log"), "utf8");
    expect(evidence).toContain("<<<<<<<");
    expect((await json("ls", "--not-landed")).tasks.map(({ id }: { id: string }) => id)).toEqual([
      ...["t.3", "t.2"],
    ]);
    // Its commits are also in the branch of t.3, which is not where they belong.
    expect(await viv("workspaces", "gc")).toContain("kept t.2 (its work has not landed");
    await merged("--all");
    const { landing } = await json("show", "t.2");
    expect(landing).toMatchObject({
      ...{ branch: "viv/t.2@run", state: "landed", target: "main", reworks: 1, code: "landed" },
      changed: { files: 1, insertions: 1, deletions: 1 },
      landed: { target: "main", commit: expect.stringMatching(/^[0-9a-f]{40}$/) },
    });
    const { reasons } = await json("why", "t.2");
    expect(reasons[1].text).toBe(`landed in main as ${landing.landed.commit.slice(0, 10)}`);
    expect(userGit(app, "show", "main:file.txt")).toBe("one\nboth\nthree");
    expect((await json("ls", "--not-landed")).tasks).toEqual([]);
    expect((await json("ls", "--landed", "--limit", "2")).tasks).toHaveLength(2);
    expect(await viv("doctor")).toContain("healthy");
    expect(await viv("workspaces", "gc")).toBe("removed t.2\nremoved t.3\n");
    expect(userGit(app, "branch", "--list", "viv/*")).toBe("");
    expect((await json("diff", "t.3")).diff).toContain("+++ b/three.txt");
  });

  it("used-up reworks wait for a person, who resolves it in the worktree", async () => {
    write(join(folder, "viv.toml"), `${CONFIG}rework = 0\n`);
    await worked("t.1", "t.2");
    expect((await merged("--all")).status).toBe(1);
    const { reasons } = await json("why", "t.2");
    expect(reasons[1]).toMatchObject({ command: "viv merge --continue t.2" });
    const path = join(folder, "run/workspaces/t.2");
    expect(reasons[1].text).toContain(`merge main in ${path}, resolve the conflicts`);
    expect(() => userGit(path, "merge", "main")).toThrow();
    const refused = await merged("--continue", "t.2");
    expect([refused.status, refused.stderr]).toEqual([
      ...[expect.any(Number), expect.stringContaining("not resolved in")],
    ]);
    expect(refused.status).not.toBe(0);
    write(join(path, "file.txt"), "one\nmine\nthree\n");
    userGit(path, "add", "-A");
    expect((await merged("--continue", "t.2")).stdout).toContain("landed");
    expect(userGit(app, "show", "main:file.txt")).toBe("one\nmine\nthree");
    expect((await merged("--continue", "t.2", "--all")).status).toBe(2);
  });

  it("what is not committed is in the diff, and not removed", async () => {
    await worked("t.1");
    await merged("--all");
    write(join(folder, "run/workspaces/t.1/late.txt"), "late\n");
    expect(await viv("diff", "t.1")).toMatch(/^# t\.1: .*, uncommitted changes included\ndiff /);
    expect(await viv("diff", "t.1", "--name-only")).toBe("file.txt\nlate.txt\n");
    expect(await viv("diff", "t.1", "--stat")).toMatch(/late\.txt +\+1 +-0\n2 files, \+2 -1\n$/);
    const colours = { ...around(), columns: 60 };
    expect(await ok(["diff", "t.1"], colours)).toContain("\u001b[32m+T1");
    expect(await viv("diff", "t.1")).not.toContain("\u001b");
    expect(await viv("workspaces", "gc")).toContain("kept t.1 (it has uncommitted changes");
    for (const args of [["--stat", "--name-only"], []]) {
      const { status } = await cli(["diff", args.length > 0 ? "t.1" : "t.9", ...args], around());
      expect(status).not.toBe(0);
    }
    const { stderr } = await cli(["ls", "--landed", "--not-landed"], around());
    expect(stderr).toContain("choose one of --landed and --not-landed");
  });

  it("a diff gives the same bytes to git apply, whatever is in it", async () => {
    await worked("t.1");
    const path = join(folder, "run/workspaces/t.1");
    const latin = Buffer.from("caf\xe9\ndiff --git a/x b/x\n", "latin1");
    writeFileSync(join(path, "latin.txt"), latin);
    writeFileSync(join(path, "nul.bin"), Buffer.of(0, 1, 2, 0xff, 0));
    write(join(path, "utf.txt"), "café\n");
    write(join(path, "a\tb"), "tab\n");
    write(join(path, "c\nd"), "line\n");
    write(join(path, "*"), "star\n");
    userGit(path, "mv", "file.txt", "other.txt");
    const names = '*\n"a\\tb"\n"c\\nd"\nfile.txt\nlatin.txt\nnul.bin\nother.txt\nutf.txt\n';
    expect(await viv("diff", "t.1", "--name-only")).toBe(names);
    const patch = join(folder, "t.patch");
    write(patch, await viv("diff", "t.1"));
    expect(readFileSync(patch, "utf8")).toContain("+café");
    const clone = join(folder, "clone");
    userGit(folder, "clone", "--quiet", "--branch", "main", app, clone);
    userGit(clone, "apply", patch);
    const added = ["*", "latin.txt", "nul.bin", "utf.txt", "a\tb", "c\nd", "other.txt"];
    for (const name of added) {
      expect(readFileSync(join(clone, name)), name).toEqual(readFileSync(join(path, name)));
    }
    expect(existsSync(join(clone, "file.txt"))).toBe(false);
    userGit(clone, "reset", "--quiet", "--hard");
    userGit(clone, "clean", "--quiet", "--force");
    for (const [at, name] of added.entries()) {
      write(patch, await viv("diff", "t.1", "--file", name));
      userGit(clone, "apply", patch);
      expect(readFileSync(join(clone, name)), name).toEqual(readFileSync(join(path, name)));
      const others = userGit(clone, "status", "--porcelain").split("\n");
      expect(others, name).toHaveLength(at + 1);
    }
    expect((await cli(["diff", "t.1", "--file", "ABSENT"], around())).stderr).toContain(
      't.1 does not change "ABSENT"; see: viv diff t.1 --name-only',
    );
    const seen = await ok(["diff", "t.1"], { ...around(), columns: 60 });
    expect(seen).toContain("(binary, or not UTF-8)");
    expect(seen).not.toContain("literal ");
  });

  it("after a squash the branch is in no other one, and gone all the same", async () => {
    write(join(folder, "viv.toml"), `${CONFIG}strategy = "squash"\n`);
    await worked("t.1");
    await merged("--all");
    expect(await viv("workspaces")).toMatch(/t\.1 +viv\/t\.1@run .* landed in main/);
    expect(await viv("workspaces", "gc")).toBe("removed t.1\n");
    expect(userGit(app, "branch", "--list", "viv/*")).toBe("");
    expect(await viv("diff", "t.1")).toContain("+T1");
  });

  it("a landing that a force-push took back keeps its workspace", async () => {
    await worked("t.1");
    await merged("--all");
    userGit(app, "branch", "--force", "main", "main~1");
    const said = await viv("workspaces", "gc");
    expect(said).toContain("kept t.1 (it has landed, and is no longer in main");
    expect(await viv("why", "t.1")).toMatch(/landed in main as \w+, which is no longer in main/);
    expect(await viv("report")).toContain("no longer in the target: t.1");
  });

  it("a target that was merged and removed has handed its work on", async () => {
    write(join(folder, "viv.toml"), CONFIG.replace('into = "main"', 'strategy = "squash"'));
    await worked("t.1");
    await merged("--all");
    userGit(app, "branch", "--move", "viv/run", "viv/other");
    const kept = await viv("workspaces", "gc");
    expect(kept).toContain("kept t.1 (it has landed, and is no longer in viv/run");
    userGit(app, "switch", "--quiet", "main");
    userGit(app, "merge", "--quiet", "viv/other");
    expect(await viv("workspaces", "gc")).toBe("removed t.1\n");
  });

  it("a file that cannot be read hides no other task, a repository that is gone no landing", async () => {
    await worked("t.1", "t.4");
    await merged("--all");
    write(join(folder, "run/merge/t.4.json"), "{");
    expect(await viv("ls")).toMatch(/done +landed +t\.1/);
    expect((await cli(["show", "t.4"], around())).stderr).toContain("t.4.json cannot be read");
    renameSync(app, `${app}.gone`);
    expect(await viv("why", "t.1")).toMatch(/landed in main as \w+; the repository .* not exist/);
    expect((await json("show", "t.1")).landing).toMatchObject({ code: "landed" });
  });

  it("commits that came after the landing are not said to have landed", async () => {
    await worked("t.1");
    await merged("--all");
    const path = join(folder, "run/workspaces/t.1");
    write(join(path, "late.txt"), "late\n");
    userGit(path, "add", "-A");
    userGit(path, "commit", "--quiet", "-m", "late");
    expect(await viv("why", "t.1")).toContain("not so the commits that its branch viv/t.1@run has");
    expect((await json("show", "t.1")).landing).toMatchObject({
      ...{ code: "not_landed", command: "viv merge t.1", landed: { target: "main" } },
    });
    expect(await viv("workspaces", "gc")).toContain("kept t.1 (its work has not landed");
    await merged("t.1");
    expect(await viv("why", "t.1")).toMatch(/landed in main as \w+$/m);
    expect(await viv("workspaces", "gc")).toBe("removed t.1\n");
  });

  it("what a forge has squashed is landed, and goes when that was fetched", async () => {
    await worked("t.1");
    await merged("--all"); // then as after a pull request: main is behind, the forge has a squash
    const file = join(folder, "run/merge/t.1.json");
    const clone = join(folder, "clone");
    userGit(app, "branch", "--force", "main", "main~1");
    userGit(folder, "clone", "--quiet", "--branch", "main", app, clone);
    userGit(clone, "merge", "--quiet", "--squash", "origin/viv/t.1@run");
    userGit(clone, "commit", "--quiet", "-m", "squashed");
    const to = userGit(clone, "rev-parse", "HEAD");
    write(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), to }));
    const kept = await viv("workspaces", "gc");
    expect(kept).toContain("kept t.1 (it has landed in main, by a commit that is not here yet");
    userGit(app, "remote", "add", "origin", clone);
    userGit(app, "fetch", "--quiet", "origin");
    expect(await viv("why", "t.1")).toMatch(/landed in main as \w+$/m);
    expect(await viv("workspaces", "gc")).toBe("removed t.1\n");
  });

  it("after gc of a branch that was merged by hand, diff does not say that it never was", async () => {
    await worked("t.1");
    userGit(app, "switch", "--quiet", "main");
    userGit(app, "merge", "--quiet", "viv/t.1@run");
    expect(await viv("workspaces", "gc")).toBe("removed t.1\n");
    const { stderr } = await cli(["diff", "t.1"], around());
    expect(stderr).toContain("its workspace was removed with nothing in it that was not merged");
  });
});

describe("kill -9 while a workspace is brought onto the tip", () => {
  it.each([
    ["before the branch moves", "update-ref -m viv: rework", "before"],
    ["before the files change", "read-tree --reset -u", "before"],
    ["after the files changed", "read-tree --reset -u", "after"],
  ])("%s: the next worker goes on", async (_, call, when) => {
    await worked("t.1", "t.2");
    await merged("--all");
    const mark = join(folder, "killed");
    const run = when === "after" ? '"$git" "$@"; ' : "";
    const revive = useGit(
      folder,
      `case " $* " in *"${call}"*) if [ ! -e '${mark}' ]; then : > '${mark}'; ${run}kill -9 $PPID; exit 1; fi;; esac; exec "$git" "$@"`,
    );
    const env = { ...around().env, ...process.env, HOME: folder };
    const killed = spawnSync(process.execPath, [VIV, "work", "--once"], { cwd: folder, env });
    expect(killed.signal).toBe("SIGKILL");
    expect(existsSync(mark)).toBe(true);
    revive();
    vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
    await viv("reap", "--stale-after", "0");
    await viv("work", "--drain");
    expect((await json("show", "t.2")).state).toBe("done");
    expect(userGit(app, "show", "viv/t.2@run:file.txt")).toBe("one\nboth\nthree");
    expect(userGit(app, "rev-parse", "viv/t.2@run~1")).toBe(userGit(app, "rev-parse", "main"));
    expect(userGit(app, "show", "refs/viv/before/t.2@run/1:file.txt")).toBe("one\nT2\nthree");
  });
});
