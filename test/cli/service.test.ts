import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { commandLine, plainPath, quotedWord } from "../../src/platform/systemd/systemd.ts";
import { until, within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { cli, environment, json, ok, type Surroundings, shell, VIV } from "./support.ts";

/** `viv service`. Units are read back by rules of our own, and by systemd where it is installed. */

const SYSTEMD = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"].find((path) =>
  existsSync(path),
);

interface Output {
  files: { path: string; status: string }[];
  next: string[];
}

/** A project with a run and a handler, whose units go to `units`. */
async function project(name = "project") {
  const folder = join(newFolder(), name);
  const units = join(folder, "units");
  mkdirSync(folder);
  const around: Surroundings = {
    cwd: folder,
    env: { PATH: "/usr/bin:/bin", HOME: folder, XDG_STATE_HOME: "" },
  };
  await ok(["init", "audit"], around);
  const handler = join(folder, "handle.sh");
  writeFileSync(handler, '#!/bin/sh\necho "$PATH" >"$VIV_ARTIFACT_PATH"\n');
  chmodSync(handler, 0o755);
  const install = ["service", "install", "--handler", "./handle.sh", "--unit-dir", units];
  const uninstall = ["service", "uninstall", "--unit-dir", units];
  const read = (unit: string) => readFileSync(join(units, unit), "utf8");
  return { folder, units, around, handler, install, uninstall, read, run: join(folder, "audit") };
}

/** The values of one setting, as they stand in the unit. */
function settings(unit: string, key: string): string[] {
  const lines = unit.split("\n").filter((line) => line.startsWith(`${key}=`));
  return lines.map((line) => line.slice(key.length + 1));
}

/** Words as systemd.syntax reads them, with %% and, in a command line, $$ undone. */
function wordsOf(value: string, dollars: "$" | "$$"): string[] {
  const words = [...value.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(
    ([, quoted, bare]) => quoted?.replace(/\\(.)/g, "$1") ?? bare ?? "",
  );
  return words.map((word) => {
    expect(word.replaceAll("%%", "")).not.toContain("%");
    if (dollars === "$$") expect(word.replaceAll("$$", "")).not.toContain("$");
    return word.replaceAll("%%", "%").replaceAll(dollars, "$");
  });
}

function argvOf(unit: string): string[] {
  const [line, ...more] = settings(unit, "ExecStart");
  expect(more).toEqual([]);
  return wordsOf(line ?? "", "$$");
}

describe("viv service install", () => {
  it("writes one unit for viv up with --fleet, and removes it alone", async () => {
    const { install, uninstall, around, units, read, run } = await project();
    await ok(install, around);
    const fleet = ["service", "install", "--fleet", "--unit-dir", units, "--grace", "10m"];
    const { files, next } = await json<Output>(fleet, around);
    const unit = "viv-up-audit.service";
    expect(files).toEqual([{ path: join(units, unit), status: "written" }]);
    expect(argvOf(read(unit)).slice(1)).toEqual([
      ...[VIV, "up", "--run", run, "--grace=10m", "--json"],
    ]);
    // Begun work is given back before systemd kills all.
    expect(settings(read(unit), "TimeoutStopSec")).toEqual(["640"]);
    expect(next).toContain(`systemctl --user enable --now ${unit}`);
    const other = await cli([...fleet, "--types", "a"], around);
    expect(other).toMatchObject({ status: 2, stderr: expect.stringContaining("--types") });
    const removed = await json<Output>([...uninstall, "--fleet"], around);
    expect(removed.files).toEqual([{ path: join(units, unit), status: "removed" }]);
    expect(readdirSync(units)).toHaveLength(3);
  });

  it("writes a worker, a reaper and its timer", async () => {
    const { install, around, units, read, run, handler, folder } = await project();
    const { files, next } = await json<Output>(
      [...install, "--worker-id", "w1", "--concurrency", "4", "--types", "a,b", "--grace", "90s"],
      around,
    );
    const names = ["viv-worker-audit.service", "viv-reap-audit.service", "viv-reap-audit.timer"];
    expect(files).toEqual(names.map((n) => ({ path: join(units, n), status: "written" })));
    expect(readdirSync(units).sort()).toEqual(names.sort());
    const worker = read("viv-worker-audit.service");
    const flags = ["--worker-id=w1", "--concurrency=4", `--handler=${handler}`, "--types=a,b"];
    expect(argvOf(worker)).toEqual(
      [process.execPath, VIV, "work", "--run", run].concat(flags, "--grace=90s"),
    );
    expect(settings(worker, "WorkingDirectory")).toEqual([folder]);
    expect(settings(worker, "Environment")).toEqual(["PATH=/usr/bin:/bin"]);
    expect(settings(worker, "Restart")).toEqual(["on-failure"]);
    expect(settings(worker, "KillMode")).toEqual(["mixed"]);
    expect(Number(settings(worker, "TimeoutStopSec")[0])).toBeGreaterThan(90 + 5);
    const reap = read("viv-reap-audit.service");
    expect(argvOf(reap)).toEqual([process.execPath, VIV, "reap", "--run", run]);
    expect(settings(reap, "Type")).toEqual(["oneshot"]);
    expect(settings(read("viv-reap-audit.timer"), "OnCalendar")).toEqual(["minutely"]);
    expect(next).toEqual([
      `systemctl --user link ${files.map(({ path }) => path).join(" ")}`,
      "systemctl --user daemon-reload",
      "systemctl --user enable --now viv-worker-audit.service viv-reap-audit.timer",
      'loginctl enable-linger "$USER"',
      "journalctl --user -u viv-worker-audit.service -f",
    ]);
  });

  it("uses the state folder of the shell: the token of its server is that of viv token", async () => {
    const { install, around, read, folder } = await project();
    const variables = async (env: Record<string, string>) => {
      await ok([...install, "--force"], { ...around, env: { ...around.env, ...env } });
      return settings(read("viv-reap-audit.service"), "Environment").slice(1);
    };
    expect(await variables({ VIV_STATE: "my state" })).toEqual([`"VIV_STATE=${folder}/my state"`]);
    expect(await variables({ XDG_STATE_HOME: "/var/x" })).toEqual(["VIV_STATE=/var/x/vivarium"]);
  });

  it("says what was written and what to run next", async () => {
    const { around, folder } = await project();
    const text = await ok(["service", "install", "--handler", "true"], around);
    const at = (name: string) => join(folder, ".config/systemd/user", name);
    expect(text).toBe(`written ${at("viv-worker-audit.service")}
written ${at("viv-reap-audit.service")}
written ${at("viv-reap-audit.timer")}

Now run
  systemctl --user daemon-reload
  systemctl --user enable --now viv-worker-audit.service viv-reap-audit.timer
  # go on after you log out, and start with the machine
  loginctl enable-linger "$USER"
  # its log
  journalctl --user -u viv-worker-audit.service -f
`);
  });

  it("goes to XDG_CONFIG_HOME if there is one", async () => {
    const { around, folder } = await project();
    const env = { ...around.env, XDG_CONFIG_HOME: join(folder, "xdg") };
    const { files } = await json<Output>(["service", "install", "--handler", "true"], {
      ...around,
      env,
    });
    for (const { path } of files) expect(path).toContain(join(folder, "xdg/systemd/user/viv-"));
    const homeless = await cli(["service", "install", "--handler", "true"], { ...around, env: {} });
    expect(homeless).toMatchObject({ status: 2, stderr: expect.stringContaining("--unit-dir") });
  });

  it("starts where viv.toml is, also when called further down", async () => {
    const { folder, units, around, read } = await project();
    writeFileSync(
      join(folder, "viv.toml"),
      'run = "audit"\n[handlers.fix]\nhandler = "./handle.sh"\n',
    );
    mkdirSync(join(folder, "deep/er"), { recursive: true });
    const below = { ...around, cwd: join(folder, "deep/er") };
    await ok(["service", "install", "--unit-dir", "../../units", "--types", "fix"], below);
    const worker = read("viv-worker-audit.service");
    expect(settings(worker, "WorkingDirectory")).toEqual([folder]);
    expect(argvOf(worker)).not.toContainEqual(expect.stringContaining("--handler"));
    const other = ["service", "install", "--unit-dir", units, "--types", "audit"];
    expect(await cli(other, below)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("there is no handler for audit"),
    });
  });

  it("changes nothing when called again, and replaces other content only with --force", async () => {
    const { install, around, read, units } = await project();
    await ok(install, around);
    const before = read("viv-worker-audit.service");
    const again = await json<Output>(install, around);
    expect(again.files.map(({ status }) => status)).toEqual(Array(3).fill("unchanged"));

    const { status, stderr } = await cli([...install, "--concurrency", "2"], around);
    expect({ status, stderr }).toEqual({
      status: 4,
      stderr: expect.stringMatching(
        /viv-worker-audit\.service is there with other content; --force/,
      ),
    });
    expect(read("viv-worker-audit.service")).toBe(before);

    const forced = await json<Output>([...install, "--concurrency", "2", "--force"], around);
    expect(forced.files.map(({ status: s }) => s)).toEqual(["written", "unchanged", "unchanged"]);
    expect(forced.next.join()).toContain("systemctl --user restart viv-worker-audit.service");
    expect(argvOf(read("viv-worker-audit.service"))).toContain("--concurrency=2");
    expect(readdirSync(units)).toHaveLength(3); // nothing hidden is left
  });

  it("makes other units beside the first ones with --name", async () => {
    const { install, around, units } = await project();
    await ok(install, around);
    await ok([...install, "--name", "second"], around);
    expect(readdirSync(units)).toHaveLength(6);
    expect(readdirSync(units)).toContain("viv-worker-second.service");
  });

  it("gives a command that works, with nothing but PATH around it", async () => {
    const { install, around, read, run } = await project("a 100% $HOME project");
    await ok([...install, "--worker-id", "w"], around);
    await ok(["enqueue", "--type", "any", "--id", "t"], around);
    const unit = read("viv-worker-audit.service");
    const [program = "", ...args] = argvOf(unit);
    const child = spawn(program, args, {
      cwd: settings(unit, "WorkingDirectory")[0]?.replaceAll("%%", "%"),
      env: { PATH: wordsOf(settings(unit, "Environment")[0] ?? "", "$")[0]?.slice(5) },
      stdio: "ignore",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const ended = new Promise((resolve) => child.on("close", (code) => resolve(code)));
    await until("the task is done", () => existsSync(join(run, "done/t.json")));
    expect(readFileSync(join(run, "artifacts/t.md"), "utf8")).toBe("/usr/bin:/bin\n");
    child.kill("SIGTERM");
    expect(await within("the worker ends", ended)).toBe(0);
    const [reaper = "", ...reap] = argvOf(read("viv-reap-audit.service"));
    expect(spawnSync(reaper, reap, { env: environment() }).status).toBe(0);
  });
});

describe("viv service uninstall", () => {
  it("removes those files and no others", async () => {
    const { install, uninstall, around, units } = await project();
    await ok(install, around);
    await ok([...install, "--name", "second"], around);
    writeFileSync(join(units, "viv-worker-audit.service.d"), "");
    const { files, next } = await json<Output>(uninstall, around);
    expect(files.map(({ status }) => status)).toEqual(["removed", "removed", "removed"]);
    expect(next).toEqual(["systemctl --user daemon-reload"]);
    expect(readdirSync(units).sort()).toEqual([
      "viv-reap-second.service",
      "viv-reap-second.timer",
      "viv-worker-audit.service.d",
      "viv-worker-second.service",
    ]);
    const again = await json<Output>(uninstall, around);
    expect(again.files.map(({ status }) => status)).toEqual(["absent", "absent", "absent"]);
  });

  it("says what to run before, as long as they are enabled", async () => {
    const { install, uninstall, around, units } = await project();
    await ok(install, around);
    const wants = join(units, "default.target.wants");
    mkdirSync(wants);
    symlinkSync("../viv-worker-audit.service", join(wants, "viv-worker-audit.service"));
    expect(await cli(uninstall, around)).toMatchObject({
      status: 4,
      stderr: expect.stringContaining(
        "first run: systemctl --user disable --now viv-worker-audit.service viv-reap-audit.timer\n",
      ),
    });
    expect(readdirSync(units)).toHaveLength(4);
    await ok([...uninstall, "--force"], around);
    expect(readdirSync(units)).toEqual(["default.target.wants"]);
  });

  it("leaves units of another run that has the same name", async () => {
    const { install, uninstall, around, units, folder } = await project();
    await ok(install, around);
    mkdirSync(join(folder, "other"));
    const there = { ...around, cwd: join(folder, "other") };
    await ok(["init", "audit"], there);
    expect(await cli(uninstall, there)).toMatchObject({
      status: 4,
      stderr: expect.stringContaining("was not made for the run"),
    });
    expect(readdirSync(units)).toHaveLength(3);
  });
});

/** Whatever may stand in a path, and what means something to systemd. */
const ODD = ["%", "%h", "$", "{HOME}", "$$", '"', "'", "\\", " ", ";", "#", "=", "~", "ü", "\\n"];
const oddText = fc
  .array(fc.oneof(fc.constantFrom(...ODD), fc.string({ maxLength: 4 })), { maxLength: 8 })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are refused, see below
  .map((parts) => parts.join("").replace(/[\u0000-\u001f\u007f]/g, "_"));

describe("quoting", () => {
  it("brings every argument through", () => {
    fc.assert(
      fc.property(fc.array(oddText), (args) => {
        expect(wordsOf(commandLine(["/bin/node", ...args]), "$$")).toEqual(["/bin/node", ...args]);
      }),
    );
  });

  it("has a shell start a program whose path systemd would refuse", () => {
    const argv = ["/opt/it's\\$here/node", "a", "$b"];
    const words = wordsOf(commandLine(argv), "$$");
    expect(words).toEqual(["/bin/sh", "-c", 'exec "$0" "$@"', ...argv]);
  });

  it("keeps the end of a path that a line would lose", () => {
    expect(plainPath("/a b", "x")).toBe("/a b");
    expect(plainPath("/100%\\", "x")).toBe("/100%%\\/.");
    expect(plainPath("/a ", "x")).toBe("/a /.");
  });

  it.each(["\n", "\r", "\t", "\u0000", "\u007f"])("refuses %j", (character) => {
    const text = `/a${character}b`;
    for (const quote of [plainPath, quotedWord, (t: string) => commandLine(["/bin/node", t])]) {
      expect(() => quote(text, "it")).toThrow(/control character/);
    }
  });

  it("refuses a run with a line break in its path before anything is written", async () => {
    const { folder, install, around, units } = await project("two\nlines");
    expect(folder).toContain("\n");
    expect(await cli(install, around)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("control character"),
    });
    expect(existsSync(units)).toBe(false);
  });
});

describe.skipIf(SYSTEMD === undefined)("systemd itself", () => {
  /** What `systemd-analyze verify` says, and the units as it has read them. */
  function verify(units: string): { complaints: string; dump: string } {
    const runtime = newFolder();
    const paths = readdirSync(units).map((name) => join(units, name));
    const call = (level: string) =>
      spawnSync(SYSTEMD as string, ["verify", "--user", "--man=no", ...paths], {
        env: environment({ XDG_RUNTIME_DIR: runtime, SYSTEMD_LOG_LEVEL: level, LC_ALL: "C.UTF-8" }),
        encoding: "utf8",
      });
    const { status, stdout, stderr } = call("notice");
    return {
      complaints: status === 0 ? stdout + stderr : `exit ${status}: ${stderr}`,
      dump: call("debug").stdout,
    };
  }

  it.each([
    "plain",
    "with spaces",
    `it's "odd" \\ at 100% for $5 ; #1`,
    "ends in a backslash\\",
    "ends in a space ",
  ])("reads units for a project called %j as they are meant", async (name) => {
    const { install, around, units, folder, run, handler } = await project(name);
    const node = join(folder, "node");
    symlinkSync(process.execPath, node);
    const program = { node, viv: join(folder, "viv.cjs") };
    const env = { ...around.env, PATH: `${folder}/bin:/usr/bin` };
    await ok([...install, "--worker-id", "w", "--types", "a,b"], { ...around, program, env });
    const { complaints, dump } = verify(units);
    expect(complaints).toBe("");
    const needsShell = /["'\\$]/.test(folder);
    const argv = [
      ...(needsShell ? ["/bin/sh", "-c", 'exec "$0" "$@"'] : []),
      ...[node, program.viv, "work", "--run", run],
      ...["--worker-id=w", `--handler=${handler}`, "--types=a,b", "--grace=60s"],
    ];
    const lines = dump.split("\n").filter((line) => line.includes("Command Line:"));
    const read = lines.map((line) => {
      // It prints them quoted as for a shell.
      const { stdout } = shell(`printf '%s\\n' ${line.slice(line.indexOf(":") + 1)}`);
      return stdout
        .split("\n")
        .slice(0, -1)
        .map((word) => word.replaceAll("$$", "$"));
    });
    expect(read).toContainEqual(argv);
    const shown = dump.split("\n").map((line) => line.replace(/^\t+/, ""));
    expect(shown).toContain(`WorkingDirectory: ${folder}`);
    expect(shown).toContain(`Environment: PATH=${folder}/bin:/usr/bin`);
  });
});
