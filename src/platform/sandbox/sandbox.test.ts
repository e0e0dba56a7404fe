import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer, type ListenOptions } from "node:net";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { until, within } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { isVivError } from "../../base/errors.ts";
import { artifactsIn } from "../../work/artifacts.ts";
import {
  findBubblewrap,
  probeBubblewrap,
  type SandboxRequest,
  sandboxed,
  sandboxedHere,
} from "./sandbox.ts";

beforeAll(async () => {
  const bwrap = findBubblewrap(process.env.PATH);
  if (bwrap === null)
    throw new Error("no bwrap in PATH: apt install bubblewrap (npm test does it)");
  expect(await probeBubblewrap(bwrap)).toBeNull();
});

/** A folder that no sandbox empties. */
function newHomeFolder(): string {
  const folder = mkdtempSync(join(homedir(), ".viv-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface World {
  /** The folder around the run. */
  base: string;
  run: string;
  mine: string;
  other: string;
  log: string;
  token: string;
}

function newWorld(base: string): World {
  const run = join(base, "a run");
  const world = {
    base,
    run,
    mine: join(run, "workspaces/mine"),
    other: join(run, "workspaces/other"),
    log: join(run, "artifacts/mine.log"),
    token: join(base, "token"),
  };
  const files = {
    [join(world.mine, "file")]: "mine",
    [join(world.other, "file")]: "secret of another task",
    [join(run, ".viv/note")]: "secret of the queue",
    [join(run, "pending/a.json")]: "{}",
    [join(run, "artifacts/other.log")]: "log of another task",
    [world.log]: "",
    [world.token]: "secret token",
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return world;
}

function requestIn(world: World, change: Partial<SandboxRequest> = {}): SandboxRequest {
  return {
    restrictions: ["write-workspace"],
    runDir: world.run,
    workspace: world.mine,
    artifacts: [world.log],
    hidden: [world.token, join(world.base, "no such file")],
    cwd: world.mine,
    ...change,
  };
}

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

function start(command: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: "pipe" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function endOf(child: ChildProcess, stdin = ""): Promise<Ended> {
  let out = "";
  let err = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    err += text;
  });
  child.stdin?.on("error", () => {}); // it need not read
  child.stdin?.end(stdin);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, out, err }));
  });
  return within("the sandbox ends", ended);
}

const inside = (request: SandboxRequest, ...argv: string[]) =>
  endOf(start(sandboxed(argv, request)));
const shell = (request: SandboxRequest, script: string, ...args: string[]) =>
  inside(request, "sh", "-c", script, "sh", ...args);

/** Which of these paths can be written to (or made) inside. */
async function writable(request: SandboxRequest, paths: string[]): Promise<string[]> {
  const script = 'for each; do { echo x >> "$each"; } 2> /dev/null && echo "$each"; done; true';
  const { code, out, err } = await shell(request, script, ...paths);
  expect([code, err]).toEqual([0, ""]);
  return out.split("\n").filter((line) => line !== "");
}

async function readable(request: SandboxRequest, paths: string[]): Promise<string[]> {
  const script = 'for each; do cat "$each" > /dev/null 2>&1 && echo "$each"; done; true';
  const { code, out } = await shell(request, script, ...paths);
  expect(code).toBe(0);
  return out.split("\n").filter((line) => line !== "");
}

describe.each([
  ["where temporary files are", newFolder],
  ["in the home folder", newHomeFolder],
])("a run %s", (_, newBase) => {
  /** Beside a run in /tmp there is only scratch. */
  const beside = ({ base }: World) => (newBase === newFolder ? [] : [join(base, "x")]);

  test("write-workspace: writes its workspace and its artifacts, nothing else", async () => {
    const world = newWorld(newBase());
    const evidence = join(world.run, "artifacts/mine.evidence");
    mkdirSync(evidence);
    const request = requestIn(world, { artifacts: [world.log, evidence] });
    const allowed = [
      join(world.mine, "file"),
      join(world.mine, "new"),
      world.log,
      join(evidence, "1.log"),
    ];
    const denied = [
      "/viv-test-x", // unique names: a test that fails must do no harm
      "/etc/viv-test-x",
      "/dev/viv-test-x",
      "/proc/self/comm",
      join(homedir(), ".viv-test-x"),
      ...beside(world),
      world.token,
      join(world.run, "status.json"),
      join(world.run, "pending/a.json"),
      join(world.run, "pending/b.json"),
      join(world.run, "artifacts/other.log"),
      join(world.run, "artifacts/mine.md"),
      join(world.run, "workspaces/x"),
      join(world.other, "file"),
      join(world.run, ".viv/note"),
      join(world.run, ".viv/x"),
    ];
    expect(await writable(request, [...allowed, ...denied])).toEqual(allowed);
    expect(readFileSync(join(world.mine, "new"), "utf8")).toBe("x\n");
    expect(readFileSync(world.log, "utf8")).toBe("x\n");
    expect(readFileSync(join(evidence, "1.log"), "utf8")).toBe("x\n");
    const names = readdirSync(world.base, { recursive: true }).map(String).sort();
    expect(names).toEqual([
      "a run",
      "a run/.viv",
      "a run/.viv/note",
      "a run/artifacts",
      "a run/artifacts/mine.evidence",
      "a run/artifacts/mine.evidence/1.log",
      "a run/artifacts/mine.log",
      "a run/artifacts/other.log",
      "a run/pending",
      "a run/pending/a.json",
      "a run/workspaces",
      "a run/workspaces/mine",
      "a run/workspaces/mine/file",
      "a run/workspaces/mine/new",
      "a run/workspaces/other",
      "a run/workspaces/other/file",
      "token",
    ]);
  });

  test("no mount can be written to but those", async () => {
    const world = newWorld(newBase());
    const { out } = await inside(requestIn(world), "cat", "/proc/self/mountinfo");
    const last = new Map<string, string>(); // the last mount on a path is the one that is seen
    for (const line of out.trim().split("\n")) {
      const [, , , , point = "", flags = ""] = line.split(" ");
      last.set(point.replaceAll("\\040", " "), flags.split(",")[0] ?? "");
    }
    const points = [...last.keys()].filter((point) => last.get(point) !== "ro");
    const devices = ["full", "null", "pts", "random", "shm", "tty", "urandom", "zero"];
    const expected = [
      ...["/tmp", "/var/tmp", "/run", realpathSync(world.mine), realpathSync(world.log)],
      ...devices.map((name) => `/dev/${name}`),
    ];
    expect(points.sort()).toEqual(expected.sort());
  });

  test("with no-network alone the same, and never the run", async () => {
    const world = newWorld(newBase());
    const request = requestIn(world, { restrictions: ["no-network"] });
    const allowed = [join(world.mine, "new"), world.log];
    const denied = [
      "/etc/viv-test-x",
      ...beside(world),
      world.token,
      join(world.other, "file"),
      join(world.run, "x"),
      join(world.run, "workspaces/x"),
      join(world.run, "artifacts/mine.md"),
      join(world.run, "artifacts/other.log"),
      join(world.run, "pending/b.json"),
      join(world.run, ".viv/note"),
      join(world.run, ".viv/x"),
    ];
    expect(await writable(request, [...allowed, ...denied])).toEqual(allowed);
    const script =
      'cd "$1" && mv artifacts x; ln -s /etc pending; mkdir done; rm -rf artifacts; ls -A . artifacts';
    const { out } = await shell(request, script, world.run);
    expect(out).toBe(".:\nartifacts\nworkspaces\n\nartifacts:\nmine.log\n");
    expect(readdirSync(world.run).sort()).toEqual([".viv", "artifacts", "pending", "workspaces"]);
  });

  test("reads the system, and of the run only what it is given", async () => {
    const world = newWorld(newBase());
    const folder = join(world.base, "keys");
    mkdirSync(folder);
    writeFileSync(join(folder, "key"), "secret");
    const before = join(world.run, "artifacts/before.md");
    writeFileSync(before, "made before");
    const request = requestIn(world, { hidden: [world.token, folder], reads: [before] });
    const allowed = ["/etc/passwd", join(world.mine, "file"), before];
    const denied = [
      join(world.other, "file"),
      join(world.run, "pending/a.json"),
      join(world.run, "artifacts/other.log"),
      join(world.run, ".viv/note"),
      world.token,
      join(folder, "key"),
    ];
    expect(await readable(request, [...allowed, ...denied])).toEqual(allowed);
    expect(await writable(request, [before])).toEqual([]);
    const { out } = await shell(request, 'ls -A "$1" "$2"', join(world.run, "workspaces"), folder);
    expect(out).toBe(`${join(world.run, "workspaces")}:\nmine\n\n${folder}:\n`);
  });

  test("what another worker makes later stays hidden", async () => {
    const world = newWorld(newBase());
    const request = requestIn(world, { workspace: null, cwd: world.run });
    const later = join(world.run, "workspaces/later");
    const script = 'echo ready; read go; cat "$1"';
    const child = start(sandboxed(["sh", "-c", script, "sh", later], request));
    await within("it runs", new Promise((resolve) => child.stdout?.once("data", resolve)));
    writeFileSync(later, "secret");
    const { code, out } = await endOf(child, "go\n");
    expect([code, out]).toEqual([1, ""]);
  });

  test("a hidden folder around the run hides all but what is the task's", async () => {
    const world = newWorld(newBase());
    const request = requestIn(world, { hidden: [world.base] });
    const paths = [world.token, join(world.mine, "file"), join(world.run, "pending/a.json")];
    expect(await readable(request, paths)).toEqual(paths.slice(1, 2));
    expect(await writable(request, [join(world.base, "x"), world.log])).toEqual([world.log]);
  });

  test("temporary folders are empty, and what it leaves there is gone", async () => {
    const world = newWorld(newBase());
    writeFileSync(join(newFolder(), "x"), "secret");
    const script = 'cd /tmp && find . -type f && cd /var/tmp && find . -type f && echo "$TMPDIR"';
    const left = `viv-test-${randomUUID()}`;
    const request = requestIn(world, { workspace: null, artifacts: [], hidden: [], cwd: "/" });
    const { out } = await shell(request, `${script}; touch /tmp/$1 /var/tmp/$1 /dev/shm/$1`, left);
    // Of the test's own folder in /tmp only the run is left.
    const names = out.split("\n").filter((name) => !name.includes("/a run/"));
    expect(names).toEqual(["/tmp", ""]);
    for (const folder of ["/tmp", "/var/tmp", "/dev/shm"]) {
      expect(existsSync(join(folder, left))).toBe(false);
    }
  });

  test("links on the way to the run work as outside", async () => {
    const world = newWorld(newBase());
    const links = newBase();
    symlinkSync(world.base, join(links, "first"));
    symlinkSync(join(links, "first"), join(links, "second"));
    const seen = newWorldThrough(world, join(links, "second"));
    const request = requestIn(seen);
    const paths = [join(seen.mine, "new"), seen.log];
    expect(await writable(request, [...paths, join(seen.run, "pending/b.json")])).toEqual(paths);
    expect(await readable(request, [join(seen.other, "file"), seen.token])).toEqual([]);
    expect(await readable(request, [join(world.other, "file"), world.token])).toEqual([]);
    expect(readFileSync(join(world.mine, "new"), "utf8")).toBe("x\n");
  });
});

test("a link to a link in an emptied folder works as outside", async () => {
  const world = newWorld(newHomeFolder());
  const first = join(newHomeFolder(), "first");
  const second = join(newFolder(), "second");
  symlinkSync(second, first);
  symlinkSync(world.base, second);
  const seen = newWorldThrough(world, first);
  expect(await writable(requestIn(seen), [seen.log, seen.token])).toEqual([seen.log]);
});

test("the folder it starts in can be read, also where temporary files are", async () => {
  const world = newWorld(newHomeFolder());
  const cwd = newFolder();
  writeFileSync(join(cwd, "script.py"), "");
  const request = requestIn(world, { workspace: null, cwd });
  const { code, out } = await shell(request, "pwd; ls; touch x 2> /dev/null || echo denied");
  expect([code, out]).toEqual([0, `${realpathSync(cwd)}\nscript.py\ndenied\n`]);
});

/** The same world, by another path. */
function newWorldThrough(world: World, base: string): World {
  const moved = Object.entries(world).map(([key, path]) => [
    key,
    base + (path as string).slice(world.base.length),
  ]);
  return Object.fromEntries(moved) as World;
}

test("a handler that lies in an emptied folder can be run, also with = in its name", async () => {
  const world = newWorld(newHomeFolder());
  const handler = join(newFolder(), "a=b.sh");
  writeFileSync(handler, '#!/bin/sh\nprintf "%s|" "$0" "$@"');
  chmodSync(handler, 0o755);
  const { code, out } = await inside(requestIn(world), handler, "c=d", "e f");
  expect([code, out]).toEqual([0, `${handler}|c=d|e f|`]);
});

describe("what is refused", () => {
  const refused = (change: (world: World) => Partial<SandboxRequest>) => {
    const world = newWorld(newFolder());
    let error: unknown;
    try {
      sandboxed(["true"], requestIn(world, change(world)));
    } catch (caught) {
      error = caught;
    }
    expect(isVivError(error, "INVALID")).toBe(true);
    return (error as Error).message.replaceAll(world.base, "BASE");
  };

  test("a workspace, a run, an artifact or a folder that is not there", () => {
    const gone = (world: World) => join(world.base, "gone");
    expect(refused((world) => ({ workspace: gone(world) }))).toBe(
      "the workspace BASE/gone of the sandbox does not exist; make it first.",
    );
    expect(refused((world) => ({ runDir: gone(world) }))).toMatch(/^the run directory .* exist/);
    expect(refused((world) => ({ artifacts: [gone(world)] }))).toMatch(/^the artifact .* exist/);
    expect(refused((world) => ({ cwd: gone(world) }))).toMatch(/^the working directory .* exist/);
    expect(refused((world) => ({ workspace: world.log }))).toMatch(/wrong kind/);
  });

  test("a link in the place of a workspace or an artifact: it could lead anywhere", () => {
    const link = (world: World) => {
      const path = join(world.base, "link");
      symlinkSync("/etc", path);
      return path;
    };
    expect(refused((world) => ({ workspace: link(world) }))).toMatch(/is a symbolic link/);
    expect(refused((world) => ({ artifacts: [link(world)] }))).toMatch(/is a symbolic link/);
  });
});

describe("power over the system", () => {
  test("no capabilities, and none to be had in a namespace of its own", async () => {
    const request = requestIn(newWorld(newFolder()));
    const { out } = await inside(request, "grep", "^Cap", "/proc/self/status");
    expect(
      out
        .replaceAll("\t", " ")
        .trim()
        .split("\n")
        .map((line) => line.split(" ")),
    ).toEqual(
      ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"].map((name) => [name, "0".repeat(16)]),
    );
    const { code, err } = await inside(request, "unshare", "--user", "true");
    expect([code, err]).toEqual([1, expect.stringContaining("unshare failed")]);
  });

  test("cannot mount, make devices, or change how the kernel behaves", async () => {
    const request = requestIn(newWorld(newFolder()));
    const fails = async (script: string) => expect((await shell(request, script)).code).not.toBe(0);
    await fails("mount -o remount,rw /");
    await fails("mount -o remount,bind,rw /");
    await fails("umount /tmp");
    await fails("mount -t tmpfs tmpfs /tmp");
    await fails("mknod /tmp/disk b 254 0");
    await fails("ls /dev/[hsv]d[a-z]* /dev/nvme* 2> /dev/null | grep .");
    // With the value that is there already: a test that fails must do no harm.
    for (const file of ["/proc/sys/kernel/core_pattern", "/sys/kernel/mm/ksm/run"]) {
      await fails(`value=$(cat ${file}) && echo "$value" > ${file}`);
    }
  });

  test("neither sees nor signals processes outside", async () => {
    const request = requestIn(newWorld(newFolder()));
    const { out } = await shell(request, "echo /proc/[0-9]*");
    expect(out.trim().split(" ").length).toBeLessThan(4); // its own: bwrap and the shell
    const { code } = await shell(request, `kill -0 ${process.pid}`);
    expect(code).not.toBe(0);
  });
});

describe("the network", () => {
  const CONNECT =
    'const to = JSON.parse(process.argv[1]); require("net").connect(to).on("connect", () => { console.log("connected"); process.exit() }).on("error", (error) => console.log(error.code))';

  async function listen(on: ListenOptions): Promise<AddressInfo | string | null> {
    const server = createServer((socket) => socket.on("error", () => {}).end());
    await new Promise<void>((resolve, reject) => {
      server.on("error", reject);
      server.listen(on, resolve);
    });
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
    return server.address();
  }

  async function connect(to: object, restrictions: SandboxRequest["restrictions"]) {
    const request = requestIn(newWorld(newFolder()), { restrictions });
    const { out, err } = await inside(request, process.execPath, "-e", CONNECT, JSON.stringify(to));
    expect(err).toBe("");
    return out.trim();
  }

  test("a port of the loopback: only with the network", async () => {
    const { port } = (await listen({ host: "127.0.0.1", port: 0 })) as AddressInfo;
    const to = { host: "127.0.0.1", port };
    expect(await connect(to, ["write-workspace"])).toBe("connected");
    expect(await connect(to, ["no-network"])).toBe("ECONNREFUSED");
    expect(await connect(to, ["write-workspace", "no-network"])).toBe("ECONNREFUSED");
  });

  test("a socket without a file: only with the network", async () => {
    const path = `\0viv-test-${randomUUID()}`;
    await listen({ path });
    expect(await connect({ path }, ["write-workspace"])).toBe("connected");
    expect(await connect({ path }, ["no-network"])).toBe("ECONNREFUSED");
  });

  test("a socket file: never, wherever it lies", async () => {
    const inTmp = join(newFolder(), "s");
    const inHome = join(newHomeFolder(), "s");
    await listen({ path: inTmp });
    await listen({ path: inHome });
    for (const restrictions of [["write-workspace"], ["no-network"]] as const) {
      expect(await connect({ path: inTmp }, restrictions)).toBe("ENOENT");
      expect(await connect({ path: inHome }, restrictions)).toBe("ECONNREFUSED");
    }
  });

  test("nothing of the services in /run, but what resolves names, with the network", async () => {
    const request = requestIn(newWorld(newFolder()));
    const { out } = await inside(request, "find", "/run", "-mindepth", "1", "-maxdepth", "1");
    const resolver = realpathSync("/etc/resolv.conf").split("/").slice(0, 3).join("/");
    const others = out.split("\n").filter((path) => !["", "/run/systemd", resolver].includes(path));
    expect(others).toEqual([]);
    const { code } = await inside(request, "cat", "/etc/resolv.conf", "/etc/hosts");
    expect(code).toBe(0);
  });
});

describe("processes", () => {
  /** Processes with this mark in their environment, by the names of their programs. */
  function marked(mark: string): { pid: number; name: string }[] {
    const found = [];
    for (const pid of readdirSync("/proc").map(Number)) {
      if (Number.isNaN(pid)) continue;
      try {
        if (!readFileSync(`/proc/${pid}/environ`, "latin1").includes(mark)) continue;
        found.push({ pid, name: readFileSync(`/proc/${pid}/comm`, "utf8").trim() });
      } catch {
        // it has ended while we looked
      }
    }
    return found;
  }

  function startMarked(script: string): { child: ChildProcess; mark: string } {
    const mark = randomUUID();
    const command = sandboxed(["sh", "-c", script], requestIn(newWorld(newFolder())));
    return { child: start(command, { VIV_TEST_MARK: mark }), mark };
  }

  const isThere = (mark: string, name: string) =>
    until(`${name} runs`, () => marked(mark).some((each) => each.name === name));
  const areGone = (mark: string) => until("all of it is gone", () => marked(mark).length === 0);

  const ESCAPE = "setsid sleep 1000 < /dev/null > /dev/null 2>&1 &";

  test("a child in a session of its own ends when the handler does", async () => {
    const { child, mark } = startMarked(`${ESCAPE} read end; exit 3`);
    await isThere(mark, "sleep");
    expect(await endOf(child, "end\n")).toMatchObject({ code: 3 });
    await areGone(mark);
  });

  test("SIGKILL for the sandbox ends everything in it", async () => {
    const { child, mark } = startMarked(`${ESCAPE} read end`);
    await isThere(mark, "sleep");
    child.kill("SIGKILL");
    await areGone(mark);
  });

  test("everything in it ends when its parent is killed", async () => {
    const mark = randomUUID();
    const command = sandboxed(["sleep", "1000"], requestIn(newWorld(newFolder())));
    const worker = start(["sh", "-c", '"$@" & wait', "sh", ...command], { VIV_TEST_MARK: mark });
    await isThere(mark, "sleep");
    worker.kill("SIGKILL");
    await areGone(mark);
  });

  test("a polite signal leaves the handler time to clean up", async () => {
    const script = "trap 'echo cleaned > cleaned; exit 7' TERM; echo ready; while :; do :; done";
    const world = newWorld(newFolder());
    const mark = randomUUID();
    const child = start(sandboxed(["sh", "-c", script], requestIn(world)), { VIV_TEST_MARK: mark });
    await within("it runs", new Promise((resolve) => child.stdout?.once("data", resolve)));
    for (const { pid } of marked(mark)) process.kill(pid, "SIGTERM");
    expect(await endOf(child)).toMatchObject({ code: 7 });
    expect(readFileSync(join(world.mine, "cleaned"), "utf8")).toBe("cleaned\n");
  });

  test("input, output and exit pass through", async () => {
    const request = requestIn(newWorld(newFolder()));
    const echo = start(sandboxed(["sh", "-c", "cat; echo oops >&2; exit 42"], request));
    expect(await endOf(echo, "hello\n")).toEqual({
      code: 42,
      signal: null,
      out: "hello\n",
      err: "oops\n",
    });
    expect((await shell(request, "kill -9 $$")).code).toBe(128 + 9);
    expect((await inside(request, "sh", "-c", "kill -TERM $$")).code).toBe(128 + 15);
    expect((await inside(request, "/no/such/program")).code).toBe(127);
    expect((await inside(request, "/etc/passwd")).code).toBe(126);
    expect((await inside(request, "pwd")).out).toBe(`${realpathSync(request.cwd)}\n`);
  });
});

describe("bubblewrap", () => {
  test("is looked for in PATH, but not in folders that a task may choose", () => {
    const folder = newFolder();
    mkdirSync(join(folder, "a/bwrap"), { recursive: true });
    mkdirSync(join(folder, "b"));
    mkdirSync(join(folder, "c"));
    mkdirSync(join(folder, "d"));
    writeFileSync(join(folder, "b/bwrap"), "");
    writeFileSync(join(folder, "c/bwrap"), "", { mode: 0o755 });
    writeFileSync(join(folder, "d/bwrap"), "", { mode: 0o755 });
    const path = ["", ".", "a", "b", "c"].map((name) => join(folder, name)).join(":");
    const chosenByTask = relative(process.cwd(), join(folder, "d"));
    expect(findBubblewrap(`:.:${chosenByTask}:${path}`)).toBe(join(folder, "c/bwrap"));
    expect(findBubblewrap("")).toBeNull();
    expect(findBubblewrap(undefined)).toBeNull();
    expect(lstatSync(findBubblewrap(process.env.PATH) as string).isFile()).toBe(true);
  });

  test("without it there is no sandbox, but an error that says what to do", async () => {
    const request = requestIn(newWorld(newFolder()));
    const message = /bubblewrap.*not installed.*apt install bubblewrap/;
    expect(() => sandboxed(["true"], request, null)).toThrow(message);
    await expect(sandboxedHere(["true"], request, newFolder())).rejects.toThrow(message);
    await expect(sandboxedHere(["true"], request, newFolder())).rejects.toMatchObject({
      code: "UNSUPPORTED",
    });
    expect(await probeBubblewrap(join(newFolder(), "bwrap"))).toMatch(message);
    const command = await sandboxedHere(["true"], request, process.env.PATH);
    expect(await endOf(start(command))).toMatchObject({ code: 0 });
  });

  test("that is repaired while we run is used from then on", async () => {
    const folder = newFolder();
    const fake = join(folder, "bwrap");
    writeFileSync(fake, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const request = requestIn(newWorld(newFolder()));
    await expect(sandboxedHere(["true"], request, folder)).rejects.toThrow(/ended with 1/);
    rmSync(fake);
    symlinkSync(findBubblewrap(process.env.PATH) as string, fake);
    expect(await sandboxedHere(["true"], request, folder)).toContain(fake);
  });

  test.each([
    ["bwrap: Unknown option --disable-userns", "0.8 or newer"],
    ["bwrap: Creating new namespace failed: No space left on device", "user.max_user_namespaces"],
    ["bwrap: No permissions to create new namespace, likely because ...", "userns_clone=1"],
    ["bwrap: setting up uid map: Permission denied", "apparmor_restrict_unprivileged_userns=0"],
    ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths"],
    ["bwrap: something else", "set sandbox to off"],
  ])("that says %j cannot make one, and why", async (said, todo) => {
    const folder = newFolder();
    const fake = join(folder, "bwrap");
    writeFileSync(fake, `#!/bin/sh\ncat >&2 <<'END'\n${said}\nEND\nexit 1\n`, { mode: 0o755 });
    const sentence = await probeBubblewrap(fake);
    expect(sentence).toContain(said);
    expect(sentence).toContain(todo);
    const request = requestIn(newWorld(newFolder()));
    await expect(sandboxedHere(["true"], request, folder)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: sentence,
    });
  });
});

describe("a task's own files", () => {
  function newTask() {
    const world = newWorld(newFolder());
    const evidence = artifactsIn(join(world.run, "artifacts"));
    const at = (name: string) => join(world.run, "artifacts", name);
    const enter = (others: string[] = []) => {
      const { writes, reads } = evidence.enter("mine", others);
      return requestIn(world, { restrictions: ["no-network"], artifacts: writes, reads });
    };
    const run = async (script: string, others?: string[]) => {
      const end = await shell(enter(others), script, evidence.artifactInside("mine"), at(""));
      evidence.leave("mine");
      return end;
    };
    return { world, evidence, at, enter, run };
  }

  test("what an engine keeps for another task is not seen, even when it is made later", async () => {
    const { world, evidence, enter } = newTask();
    const mine = join(evidence.sessionsOf("mine"), "state");
    writeFileSync(mine, "mine\n");
    const later = join(world.run, "artifacts/.sessions/later/state");
    const script = 'echo ready; read x; cat "$1" "$2" 2> /dev/null';
    const child = start(sandboxed(["sh", "-c", script, "sh", mine, later], enter()));
    let out = "";
    child.stdout?.setEncoding("utf8").on("data", (text) => {
      out += text;
      if (text !== "ready\n") return;
      writeFileSync(join(evidence.sessionsOf("later"), "state"), "secret of another task\n");
      child.stdin?.end("\n");
    });
    await within("the sandbox ends", new Promise((resolve) => child.on("close", resolve)));
    expect(existsSync(later)).toBe(true);
    expect(out).toBe("ready\nmine\n");
  });

  test.each([
    ["written in place", 'echo new > "$1"', "new\n"],
    ["written by its name outside", 'echo new > "$2/mine.md"', "new\n"],
    ["replaced", 'echo new > "$TMPDIR/x" && mv "$TMPDIR/x" "$1"', "new\n"],
    ["replaced by a file beside it", 'echo new > "$1.new" && mv "$1.new" "$1"', "new\n"],
    ["left as it was", "true", "old\n"],
    ["removed", 'rm "$1"', null],
    ["made a link", 'ln -sf /etc/passwd "$1"', "old\n"],
    ["made a folder", 'rm "$1"; mkdir "$1"', "old\n"],
  ])("an artifact %s", async (_, script, text) => {
    const { at, run } = newTask();
    writeFileSync(at("mine.md"), "old\n");
    expect((await run(script)).err).toBe("");
    const isThere = lstatSync(at("mine.md"), { throwIfNoEntry: false })?.isFile();
    expect(isThere ? readFileSync(at("mine.md"), "utf8") : null).toBe(text);
    // The next program, the proof, finds what this one left.
    const { out } = await run('test -f "$1" && test ! -L "$1" && cat "$1"');
    expect(out).toBe(script.includes("mkdir") ? "" : (text ?? ""));
  });

  test("what it leaves besides stays its own, and nothing stays of one that leaves nothing", async () => {
    const { at, run } = newTask();
    expect((await run('echo a > "$1"')).code).toBe(0);
    expect(existsSync(at("mine.files"))).toBe(false);
    expect((await run('echo b > "$2/mine.files/table.csv"; echo c > "$2/other.md"')).err).toContain(
      "Read-only",
    );
    expect(readdirSync(at("mine.files"))).toEqual(["table.csv"]);
    expect(existsSync(at("other.md"))).toBe(false);
    expect((await run('cat "$2/mine.files/table.csv"')).out).toBe("b\n");
  });

  test("it reads what those before it have made, and its own evidence", async () => {
    const { at, run } = newTask();
    mkdirSync(at("before.files"));
    mkdirSync(at("mine.evidence"));
    symlinkSync("/etc/passwd", at("link.md"));
    for (const name of ["before.md", "before.files/x", "mine.evidence/1.log", "third.md"]) {
      writeFileSync(at(name), `${name}\n`);
    }
    const script =
      'cd "$2"; cat before.md before.files/x mine.evidence/1.log; ls -A; echo x >> before.md';
    const { out, err } = await run(script, ["before", "link", "no-such"]);
    expect(out).toBe(
      "before.md\nbefore.files/x\nmine.evidence/1.log\n" +
        "before.files\nbefore.md\nmine.evidence\nmine.files\nmine.log\nmine.md\n",
    );
    expect(err).toContain("Read-only");
  });

  test("what a worker that died had not taken out is there for the next", async () => {
    const { at, enter, run } = newTask();
    await shell(enter(), 'echo new > "$1.x" && mv "$1.x" "$1"', at("mine.files/mine.md"));
    expect(readFileSync(at("mine.md"), "utf8")).toBe("");
    expect((await run('cat "$1"')).out).toBe("new\n");
    expect(readFileSync(at("mine.md"), "utf8")).toBe("new\n");
  });

  test("a link in the place of what a home shows is not followed", async () => {
    const { world, evidence, enter } = newTask();
    const home = evidence.sessionsOf("mine");
    const victim = join(world.base, "victim");
    symlinkSync(`/oldroot${victim}`, join(home, "auth.json"));
    const shows = [{ from: world.token, to: join(home, "auth.json") }];
    const { out } = await shell({ ...enter(), hidden: [], shows }, 'cat "$1"', shows[0]?.to ?? "");
    expect(out).toBe("secret token");
    expect(existsSync(victim)).toBe(false);
  });
});
