import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../support/folders.ts";
import { DIST } from "../support/processes.ts";
import { viv } from "./support.ts";

/** What a command loads before it does anything: every start of `viv` pays for it. */

const LIST = `process.on("exit", () => {
  const loaded = { files: Object.keys(require.cache), modules: process.moduleLoadList };
  require("node:fs").writeFileSync(process.env.LOADED, JSON.stringify(loaded));
});
`;

function loadedBy(...args: string[]): { files: string[]; modules: string[] } {
  const folder = newFolder();
  writeFileSync(join(folder, "list.cjs"), LIST);
  expect(viv(["init", "run"], { cwd: folder })).toMatchObject({ status: 0 });
  const loaded = join(folder, "loaded");
  const env = { NODE_OPTIONS: `--require ${join(folder, "list.cjs")}`, LOADED: loaded };
  expect(viv(args, { cwd: folder, env })).toMatchObject({ status: 0, stderr: "" });
  return JSON.parse(readFileSync(loaded, "utf8"));
}

it.each([["ls"], ["enqueue", "--type", "audit"]])(
  "viv %s loads neither prices nor budgets",
  (...args) => {
    const { files } = loadedBy(...args);
    const code = files.map((file) => readFileSync(file, "utf8")).join("\n");
    expect(code).toContain("parseArgs");
    for (const word of ["class SharedBudget", "PRICES_AS_OF ="])
      expect(code.includes(word), word).toBe(false);
  },
);

it("loads one file for viv enqueue besides the program's own, and no slow module of node", () => {
  const { files, modules } = loadedBy("enqueue", "--type", "audit");
  const names = files.map((file) => file.slice(file.lastIndexOf("/") + 1));
  const small = ["list.cjs", "viv.cjs", "code-cache.cjs"];
  const more = names.filter(
    (name) => !small.includes(name) && !name.startsWith("rolldown-runtime"),
  );
  expect(more).toEqual(["core.cjs"]);
  for (const name of ["crypto", "child_process", "fs/promises"])
    expect(modules).not.toContain(`NativeModule ${name}`);
});

it("runs code that the build compiled, and compiles anew where V8 rejects that", () => {
  const dist = newFolder();
  for (const name of readdirSync(DIST).filter((one) => /^(viv|core|code-cache)/.test(one)))
    cpSync(join(DIST, name), join(dist, name));
  symlinkSync(join(DIST, "chunks"), join(dist, "chunks"));
  const compiled = readFileSync(join(DIST, "core.cache"));
  const isRejected = () => {
    const ask = `require("./code-cache.cjs").script.cachedDataRejected`;
    const { stdout } = spawnSync(process.execPath, ["-p", ask], { cwd: dist, encoding: "utf8" });
    return JSON.parse(stdout);
  };
  expect(isRejected()).toBe(false);
  for (const bad of [Buffer.from("no code"), Buffer.alloc(0), compiled.subarray(0, 100_000)]) {
    writeFileSync(join(dist, "core.cache"), bad);
    expect(isRejected()).toBe(true);
    const { status } = spawnSync(process.execPath, [join(dist, "viv.cjs"), "version"]);
    expect(status).toBe(0);
  }
});
