import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readTrusted, remedyFor, whyNotTrusted } from "../../src/platform/files/owned.ts";
import { warrantIn } from "../../src/warden/queue-files.ts";
import { newFolder } from "../support/folders.ts";
import { cli, type Said, VIV, viv } from "./support.ts";

/**
 * Nobody else tells viv what to run. Strangers are made with chown, and other users with setpriv, so
 * all of it needs root.
 */

const STRANGER = 65_534;
const OTHER = 54_321;
const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log("skipping what needs another user: only root can become one");

function file(path: string, text: string, mode = 0o644): string {
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function strangers(path: string): string {
  chownSync(path, STRANGER, STRANGER);
  return path;
}

function variable(name: string, value: string): void {
  const before = process.env[name];
  process.env[name] = value;
  onTestFinished(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}

/** As another user, of this group, with this umask. */
function as(
  user: number,
  args: readonly string[],
  around: { cwd: string; umask: string; env?: Record<string, string> },
): Said {
  const { cwd, umask } = around;
  const { status, stdout, stderr } = spawnSync(
    "setpriv",
    [
      ...[`--reuid=${user}`, `--regid=${user}`, "--clear-groups", "sh", "-c"],
      ...[`umask ${umask}; exec "$@"`, "sh", process.execPath, VIV, ...args],
    ],
    { cwd, env: { PATH: process.env.PATH, ...around.env }, encoding: "utf8" },
  );
  return { status: status ?? -1, stdout, stderr };
}

/** A world-writable folder with a stranger's viv.toml, and a folder of our own in it. */
function trap(): { shared: string; own: string; marks: () => string[] } {
  const shared = newFolder("viv-trust-");
  chmodSync(shared, 0o777);
  const marks = join(shared, "marks");
  mkdirSync(marks);
  chmodSync(marks, 0o777);
  const handler = strangers(
    file(join(shared, "evil.sh"), `#!/bin/sh\ntouch ${marks}/handler\n`, 0o755),
  );
  strangers(
    file(
      join(shared, "viv.toml"),
      [
        'run = "own/run"',
        `[handlers.default]\nhandler = "${handler}"`,
        `[warden]\nstate = "own/warden"\nhook = "touch ${marks}/hook"`,
        `[crew.moss]\ndef = "moss.md"\nengine = "exec"\ncommand = "touch ${marks}/crew"\ninterval = "100ms"`,
        "",
      ].join("\n"),
    ),
  );
  strangers(file(join(shared, "moss.md"), "You are moss.\n"));
  const own = join(shared, "own");
  mkdirSync(own, { mode: 0o700 });
  return { shared, own, marks: () => readdirSync(marks) };
}

describe.skipIf(!isRoot)("another user's viv.toml above a folder of one's own", () => {
  it("is ignored by every command that would obey it, which says so", async () => {
    const { shared, own, marks } = trap();
    const env = { VIV_STATE: join(own, "state") };
    const told = `viv: ${shared}/viv.toml is ignored, because it is in a folder that may be written by everybody; make it yours alone (chown, chmod go-w), or, if you trust who can change it: VIV_TRUST=${shared}\n`;
    expect(viv(["enqueue", "--run", join(own, "run"), "--type", "t"], { cwd: own, env })).toEqual(
      expect.objectContaining({
        status: 0,
        stderr: `${told}viv: created run ${join(own, "run")}\n`,
      }),
    );
    const work = viv(["work", "--run", join(own, "run"), "--drain"], { cwd: own, env });
    expect(work.status).toBe(2);
    expect(work.stderr).toContain(told);
    expect(work.stderr).toContain("which handler?");
    const status = viv(["status"], { cwd: own, env });
    expect(status).toEqual(expect.objectContaining({ status: 2 }));
    expect(status.stderr).toContain("which run?");
    const crew = viv(["crew", "up"], { cwd: own, env });
    expect(crew.stderr).toContain(told);
    expect(crew.stderr).toContain("which crew?");
    const warden = await cli(["warden", "status", "--json"], { cwd: own, env });
    expect(warden.stderr).toBe(told);
    expect(existsSync(join(own, "warden"))).toBe(false);
    expect(marks()).toEqual([]);
  });

  it("is ignored in a folder of one's own as well, with all it names", async () => {
    const { shared, marks } = trap();
    chmodSync(shared, 0o755);
    const { stderr } = viv(["work", "--run", join(shared, "own/run"), "--drain"], { cwd: shared });
    expect(stderr).toContain(
      `${shared}/viv.toml is ignored, because it belongs to user ${STRANGER}, and you are user 0;`,
    );
    expect(marks()).toEqual([]);
  });

  it("may be written by nobody else either", async () => {
    const folder = newFolder("viv-trust-");
    mkdirSync(join(folder, "run"));
    file(join(folder, "viv.toml"), 'run = "run"\n', 0o666);
    expect((await cli(["status"], { cwd: folder })).stderr).toContain(
      "is ignored, because it may be written by everybody",
    );
  });

  it("is used where VIV_TRUST says so", async () => {
    const { shared, own, marks } = trap();
    const run = join(own, "run");
    viv(["enqueue", "--run", run, "--type", "t"], { cwd: own });
    const env = { VIV_TRUST: `/nowhere:${shared}`, VIV_STATE: join(own, "state") };
    const { status, stderr } = viv(["work", "--run", run, "--drain"], { cwd: own, env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(marks()).toEqual(["handler"]);
  });
});

describe.skipIf(!isRoot)("what is told to help", () => {
  it("helps, also where a link leads to what is not trusted", () => {
    const folder = newFolder("viv-trust-");
    const elsewhere = newFolder("viv-trust-");
    strangers(file(join(elsewhere, "do.sh"), "#!/bin/sh\n", 0o755));
    const link = join(folder, "do.sh");
    symlinkSync(join(elsewhere, "do.sh"), link);
    const [, advice] = /VIV_TRUST=(\S+)$/.exec(remedyFor(link)) ?? [];
    expect(whyNotTrusted(link)).not.toBeNull();
    variable("VIV_TRUST", advice ?? "");
    expect(whyNotTrusted(link)).toBeNull();
  });
});

describe.skipIf(!isRoot)("the same holds for", () => {
  it("a .viv-run, a run, and what they lead to", async () => {
    const folder = newFolder("viv-trust-");
    const run = join(folder, "run");
    viv(["enqueue", "--run", run, "--type", "t"], { cwd: folder });
    const pointer = file(join(folder, ".viv-run"), `${run}\n`);
    expect((await cli(["status"], { cwd: folder })).status).toBe(0);
    strangers(pointer);
    expect((await cli(["status"], { cwd: folder })).stderr).toContain(
      `${pointer} is ignored, because it belongs to user ${STRANGER}`,
    );
    chownSync(pointer, 0, 0);
    chmodSync(join(run, "pending"), 0o777);
    const refused = await cli(["enqueue", "--type", "t"], { cwd: folder });
    expect(refused).toEqual(expect.objectContaining({ status: 5, stdout: "" }));
    expect(refused.stderr).toContain(`${run}/pending is not used, because it may be written by`);
    // To look at it is not to obey it.
    expect((await cli(["ls"], { cwd: folder })).status).toBe(0);
    chmodSync(join(run, "pending"), 0o700);
    strangers(run);
    expect(
      (await cli(["work", "--handler", "/bin/true", "--drain"], { cwd: folder })).stderr,
    ).toContain(`${run} is not used, because it belongs to user ${STRANGER}`);
  });

  it("agents.toml, a crew's manifest, and a board", async () => {
    const folder = newFolder("viv-trust-");
    spawnSync("git", ["init", "-q", folder]);
    const agents = strangers(file(join(folder, "agents.toml"), "[pit]\n"));
    expect((await cli(["up"], { cwd: folder })).stderr).toContain(
      `${agents} is not used, because it belongs to user ${STRANGER}`,
    );
    const crew = strangers(file(join(folder, "crew.org"), "* moss\n"));
    expect((await cli(["crew", "up", crew], { cwd: folder })).stderr).toContain(
      `${crew} is not used, because it belongs to user ${STRANGER}`,
    );
    const board = strangers(file(join(folder, "board.org"), "* TODO a\n"));
    for (const args of [
      ["board", "ls"],
      ["board", "ls", "--board", board],
    ]) {
      expect((await cli(args, { cwd: folder })).stderr).toContain(
        `${board} is not used, because it belongs to user ${STRANGER}`,
      );
    }
    mkdirSync(join(folder, ".crew"), { recursive: true });
    strangers(join(folder, ".crew"));
    expect((await cli(["crew", "ps"], { cwd: folder })).stderr).toContain(
      `${folder}/.crew is not used, because it belongs to user ${STRANGER}`,
    );
  });

  it("handlers, prompts, and the state of the user and the warden", async () => {
    const folder = newFolder("viv-trust-");
    const run = join(folder, "run");
    const config = (text: string) => file(join(folder, "viv.toml"), `run = "run"\n${text}\n`);
    viv(["enqueue", "--run", run, "--type", "t"], { cwd: folder });
    const around = { cwd: folder, env: { VIV_STATE: join(folder, "state") } };
    const handler = file(join(folder, "do.sh"), "#!/bin/sh\n", 0o777);
    config('[handlers.default]\nhandler = "./do.sh"');
    const why = "because it may be written by everybody";
    expect((await cli(["work", "--drain"], around)).stderr).toContain(
      `[handlers.default]: ${handler} is not run, ${why}`,
    );
    expect((await cli(["work", "--handler", handler, "--drain"], around)).stderr).toContain(why);
    const prompt = file(join(folder, "p.md"), "hello", 0o666);
    config('[handlers.default]\nengine = "script"\nscenario = "s.toml"\nprompt = "p.md"');
    expect((await cli(["work", "--drain"], around)).stderr).toContain(
      `${prompt} is not used, ${why}`,
    );
    mkdirSync(join(folder, "state"));
    strangers(join(folder, "state"));
    expect((await cli(["accounts"], around)).stderr).toContain(
      `${folder}/state is not used, because it belongs to user ${STRANGER}`,
    );
    mkdirSync(join(folder, "warden"));
    chmodSync(join(folder, "warden"), 0o777);
    const warden = await cli(["warden", "status", "--state", "warden"], around);
    expect(warden.stderr).toContain(`${folder}/warden is not used, ${why}`);
  });

  it("a warrant", () => {
    const folder = newFolder("viv-trust-");
    const path = file(join(folder, "w-1.json"), '{"target": "agent-1", "reason": "stuck"}');
    expect(warrantIn(path, "w-1.json", 0)).toMatchObject({ target: "agent-1" });
    strangers(path);
    const why = `it belongs to user ${STRANGER}, and you are user 0`;
    expect(warrantIn(path, "w-1.json", 0)).toBe(why);
    variable("VIV_TRUST", folder);
    expect(warrantIn(path, "w-1.json", 0)).toMatchObject({ target: "agent-1" });
  });
});

describe("where the search for viv.toml ends", () => {
  function tree(): { top: string; deep: string } {
    const top = newFolder("viv-trust-");
    file(join(top, "viv.toml"), 'run = "run"\n');
    const deep = join(top, "home/repo/src");
    mkdirSync(deep, { recursive: true });
    viv(["init", join(top, "run")], { cwd: top });
    return { top, deep };
  }

  it("at the repository, which is looked at", async () => {
    const { top, deep } = tree();
    expect((await cli(["status"], { cwd: deep })).status).toBe(0);
    mkdirSync(join(top, "home/repo/.git"));
    const { stderr } = await cli(["status"], { cwd: deep });
    expect(stderr).toContain("which run?");
    expect(stderr).toContain(
      `(${top}/viv.toml is ignored: it is above ${top}/home/repo, where the search ends)`,
    );
    file(join(top, "home/repo/viv.toml"), 'run = "../../run"\n');
    expect((await cli(["status"], { cwd: deep })).status).toBe(0);
  });

  it("at the home folder, which is looked at", async () => {
    const { top, deep } = tree();
    const env = { HOME: join(top, "home") };
    expect((await cli(["status"], { cwd: deep, env })).stderr).toContain("which run?");
    file(join(top, "home/viv.toml"), 'run = "../run"\n');
    expect((await cli(["status"], { cwd: deep, env })).status).toBe(0);
  });
});

describe.skipIf(!isRoot)("what is nobody else's is used", () => {
  it("with umask 002 and a group of one's own, without a home or an entry in passwd", () => {
    const folder = newFolder("viv-trust-");
    chownSync(folder, OTHER, OTHER);
    chmodSync(folder, 0o775);
    const own = (name: string, text: string, mode: number) => {
      chownSync(file(join(folder, name), text, mode), OTHER, OTHER);
    };
    own("viv.toml", '[handlers.default]\nhandler = "./do.sh"\n', 0o664);
    own("do.sh", '#!/bin/sh\necho fine > "$VIV_ARTIFACT_PATH"\n', 0o775);
    const around = { cwd: folder, umask: "002" };
    expect(as(OTHER, ["init", "run"], around).stderr).toBe("");
    expect(as(OTHER, ["enqueue", "--type", "t"], around).stderr).toBe("");
    const homeless = as(OTHER, ["work", "--drain"], around);
    expect(homeless).toEqual(expect.objectContaining({ status: 5 }));
    expect(homeless.stderr).toContain("set HOME, or VIV_STATE to a folder of your own");
    const env = { VIV_STATE: join(folder, "state") };
    const { status, stdout, stderr } = as(OTHER, ["work", "--drain"], { ...around, env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("1 done");
  });

  it("of root, for everybody; and of who called sudo, for root", () => {
    const folder = newFolder("viv-trust-");
    const mine = file(join(folder, "a"), "x");
    expect(whyNotTrusted(mine)).toBeNull();
    chownSync(folder, OTHER, OTHER);
    chownSync(mine, OTHER, OTHER);
    expect(whyNotTrusted(mine)).toContain(`belongs to user ${OTHER}`);
    expect(() => readTrusted(mine)).toThrow("is not used");
    variable("SUDO_UID", String(OTHER));
    expect(whyNotTrusted(mine)).toBeNull();
    expect(readTrusted(mine)).toBe("x");
  });

  it("in a folder with the sticky bit, but for what others put there", () => {
    const folder = newFolder("viv-trust-");
    const mine = file(join(folder, "a"), "x");
    chmodSync(folder, 0o1777);
    expect(whyNotTrusted(mine)).toBeNull();
    expect(whyNotTrusted(strangers(file(join(folder, "b"), "x")))).toContain("belongs to user");
    chmodSync(folder, 0o777);
    expect(whyNotTrusted(mine)).toBe(`is in ${folder}, which may be written by everybody`);
  });
});

it.skipIf(!isRoot)("a group that is not the owner's own is somebody else", () => {
  const folder = newFolder("viv-trust-");
  const path = file(join(folder, "a"), "x", 0o664);
  chownSync(path, 0, OTHER);
  expect(whyNotTrusted(path)).toBe(`may be written by group ${OTHER}`);
  chownSync(path, OTHER, OTHER);
  expect(whyNotTrusted(path)).toContain(`belongs to user ${OTHER}`);
});
