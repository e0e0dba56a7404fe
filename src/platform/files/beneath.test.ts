import { execFileSync, spawn } from "node:child_process";
import fs, {
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { within } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import * as beneath from "./beneath.ts";

function newRoot(mode: "strict" | "loose" = "strict"): { at: (name: string) => string } {
  const root = newFolder("viv-beneath-");
  const at = (name: string) => join(root, name);
  for (const name of ["run", "run/done", "run/claimed", "run/claimed/w", "victim"])
    mkdirSync(at(name));
  beneath.guard(at("run"), mode);
  onTestFinished(() => beneath.release(at("run"), mode));
  return { at };
}

function handles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return []; // the one that lists them
    }
  });
}

const NOT_FOLLOWED = expect.objectContaining({ code: "RUN_INVALID" });

/** Every call, on this folder in the place of which there is a link now. */
const CALLS: [string, (folder: string, from: string) => void][] = [
  ["opened", (folder) => closeSync(beneath.openSync(`${folder}/new`, "wx", 0o600))],
  ["read", (folder) => closeSync(beneath.openSync(`${folder}/there`, "r"))],
  ["renamed into", (folder, from) => beneath.renameSync(from, `${folder}/new`)],
  ["renamed out of", (folder, from) => beneath.renameSync(`${folder}/there`, `${from}.2`)],
  ["linked into", (folder, from) => beneath.linkSync(from, `${folder}/new`)],
  ["removed in", (folder) => beneath.unlinkSync(`${folder}/there`)],
  ["made in", (folder) => beneath.mkdirSync(`${folder}/new`, { mode: 0o700 })],
  [
    "made deep in",
    (folder) => beneath.mkdirSync(`${folder}/a/b`, { mode: 0o700, recursive: true }),
  ],
  ["a folder removed in", (folder) => beneath.rmdirSync(`${folder}/folder`)],
  ["dated in", (folder) => beneath.utimesSync(`${folder}/there`, 1, 1)],
  ["written in", (folder) => beneath.writeNewSync(`${folder}/new`, "x")],
  ["emptied", (folder) => beneath.removeTreeSync(`${folder}/folder`)],
];

describe.each(["strict", "loose"] as const)("a %s folder", (mode) => {
  it.each(CALLS)("nothing is %s a link below it", (_, call) => {
    for (const name of ["run/done", "run/claimed/w"]) {
      const { at } = newRoot(mode);
      writeFileSync(at("victim/there"), "victim");
      mkdirSync(at("victim/folder"));
      writeFileSync(at("run/claimed/from"), "x");
      const before = lstatSync(at("victim/there"));
      rmSync(at(name), { recursive: true });
      symlinkSync(at("victim"), at(name));
      expect(() => call(at(name), at("run/claimed/from"))).toThrow(NOT_FOLLOWED);
      expect(readdirSync(at("victim")).sort()).toEqual(["folder", "there"]);
      expect(lstatSync(at("victim/there"))).toEqual(before);
    }
  });

  it("a folder that was removed and made again is the new one", () => {
    const { at } = newRoot(mode);
    for (const text of ["1", "2", "3"]) {
      rmSync(at("run/claimed"), { recursive: true });
      expect(() => beneath.writeNewSync(at("run/claimed/w/a"), text)).toThrow(
        expect.objectContaining({ code: "ENOENT", path: at("run/claimed") }),
      );
      beneath.mkdirSync(at("run/claimed/w"), { mode: 0o700, recursive: true });
      beneath.writeNewSync(at("run/claimed/w/a"), text);
      beneath.renameSync(at("run/claimed/w/a"), at("run/done/a"));
      expect(readFileSync(at("run/done/a"), "utf8")).toBe(text);
    }
  });

  it("errors name the path that the user knows", () => {
    const { at } = newRoot(mode);
    expect(() => beneath.renameSync(at("run/claimed/w/a"), at("run/done/a"))).toThrow(
      expect.objectContaining({
        ...{ code: "ENOENT", path: at("run/claimed/w/a"), dest: at("run/done/a") },
        message: `ENOENT: no such file or directory, rename '${at("run/claimed/w/a")}' -> '${at("run/done/a")}'`,
      }),
    );
  });
});

it("a link in the place of a file is not opened, and what is not guarded is as ever", () => {
  const { at } = newRoot();
  writeFileSync(at("victim/there"), "victim");
  symlinkSync(at("victim/there"), at("run/done/a"));
  expect(() => beneath.openSync(at("run/done/a"), "r")).toThrow(
    expect.objectContaining({ code: "ELOOP", path: at("run/done/a") }),
  );
  symlinkSync(at("victim"), at("link"));
  const fd = beneath.openSync(at("link/there"), "r");
  expect(fstatSync(fd).size).toBe(6);
  closeSync(fd);
});

it("a pipe in the place of a file is not waited for", () => {
  const { at } = newRoot();
  execFileSync("mkfifo", [at("run/done/a")]);
  // Else this test would wait for ever instead of failing.
  const reader = spawn("sh", ["-c", 'sleep 5; cat "$0"', at("run/done/a")]);
  onTestFinished(() => void reader.kill("SIGKILL"));
  expect(() => beneath.openSync(at("run/done/a"), constants.O_WRONLY | constants.O_CREAT)).toThrow(
    expect.objectContaining({ code: "ENXIO", path: at("run/done/a") }),
  );
});

it.skipIf(process.getuid?.() !== 0)(
  "what another user has put in the place of the guarded folder is not used",
  () => {
    const { at } = newRoot();
    beneath.writeNewSync(at("run/done/a"), "ours");
    renameSync(at("run"), at("away")); // a user who may write above it can do that
    mkdirSync(at("run/done"), { recursive: true });
    writeFileSync(at("run/done/a"), "a stranger's");
    chownSync(at("run"), 65_534, 65_534);
    beneath.guard(at("run"), "strict"); // sees at once what is there
    beneath.release(at("run"), "strict");
    expect(() => beneath.openSync(at("run/done/a"), "r")).toThrow(
      `${at("run")} is not used, because it belongs to user 65534, and you are user 0;`,
    );
    rmSync(at("run"), { recursive: true });
    renameSync(at("away"), at("run"));
    closeSync(beneath.openSync(at("run/done/a"), "r"));
  },
);

it("handles are few, and closed with their last user", () => {
  const { at } = newRoot();
  beneath.guard(at("run"), "strict");
  const before = handles().length;
  for (let i = 0; i < 1_000; i++) {
    mkdirSync(at(`run/claimed/w${i}`));
    writeFileSync(at(`run/claimed/w${i}/a`), "");
    beneath.renameSync(at(`run/claimed/w${i}/a`), at("run/done/a"));
  }
  expect(handles().length).toBeLessThan(before + 300);
  beneath.release(at("run"), "strict");
  expect(handles().some((path) => path.startsWith(at("run")))).toBe(true);
  beneath.release(at("run"), "strict");
  expect(handles().some((path) => path.startsWith(at("run")))).toBe(false);
  beneath.guard(at("run"), "strict"); // what onTestFinished gives back
});

/** As with `ulimit -n`, of folders below this one. */
function mayOpen(below: string, most: number): void {
  const original = fs.openSync;
  fs.openSync = (...args) => {
    if (handles().filter((path) => path.startsWith(below)).length < most) return original(...args);
    throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.openSync = original;
    syncBuiltinESMExports();
  });
}

it.each([1, 2, 3, 4, 5])(
  "with %s descriptors left a file goes where it should, or stays",
  (most) => {
    const { at } = newRoot();
    writeFileSync(at("run/claimed/w/a"), "");
    mayOpen(at("run"), most);
    let code = "fine";
    try {
      beneath.renameSync(at("run/claimed/w/a"), at("run/done/a"));
    } catch (error) {
      code = (error as NodeJS.ErrnoException).code ?? "";
    }
    expect(code).toBe(most < 4 ? "EMFILE" : "fine");
    expect(existsSync(at("run/done/a"))).toBe(code === "fine");
    expect(existsSync(at("run/claimed/w/a"))).toBe(code !== "fine");
  },
);

/** Another process that puts a link in the place of a folder and takes it away again, without a pause. */
async function flipping(folder: string, victim: string, act: () => void): Promise<void> {
  const script = `
    const fs = require("node:fs");
    const [folder, victim] = process.argv.slice(1);
    fs.symlinkSync(victim, folder + ".link");
    console.log("ready");
    process.stdin.on("data", () => { stopped = true; });
    let stopped = false;
    const flip = () => {
      for (let i = 0; i < 500; i++) {
        fs.renameSync(folder, folder + ".away");
        fs.renameSync(folder + ".link", folder);
        fs.renameSync(folder, folder + ".link");
        fs.renameSync(folder + ".away", folder);
      }
      if (stopped) process.exit(0);
      setImmediate(flip);
    };
    flip();`;
  const child = spawn(process.execPath, ["-e", script, folder, victim], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await within("it flips", new Promise((resolve) => child.stdout.once("data", resolve)));
  act();
  child.stdin.end("stop");
  await within("it ends", new Promise((resolve) => child.once("close", resolve)));
}

const TRIES = 20_000;

it("nothing lands elsewhere while a folder and a link change places as fast as they can", async () => {
  const { at } = newRoot();
  let moved = 0;
  let refused = 0;
  await flipping(at("run/claimed/w"), at("victim"), () => {
    for (let i = 0; i < TRIES; i++) {
      try {
        const task = at(`run/claimed/w/${i}`);
        beneath.writeNewSync(task, "x");
        beneath.renameSync(task, at(`run/done/${i}`));
        moved++;
      } catch (error) {
        refused++;
        expect(["RUN_INVALID", "ENOENT", "ENOTDIR"]).toContain((error as { code?: string }).code);
      }
    }
  });
  expect(readdirSync(at("victim"))).toEqual([]);
  expect(moved + refused).toBe(TRIES);
  expect(moved).toBeGreaterThan(0);
  expect(readdirSync(at("run/done"))).toHaveLength(moved);
});

it("the same by paths lands there: the test above would see it", async () => {
  const { at } = newRoot("loose");
  let landed = false;
  await flipping(at("run/done"), at("victim"), () => {
    for (let i = 0; i < 100 * TRIES && !landed; i++) {
      try {
        writeFileSync(at("run/claimed/a"), "");
        renameSync(at("run/claimed/a"), at(`run/done/${i}`));
      } catch {
        continue; // it was neither the folder nor the link
      }
      landed = existsSync(at(`victim/${i}`));
    }
  });
  expect(landed).toBe(true);
});
