import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { newFolder } from "../support/folders.ts";

/** The preloaded hook, in real processes: it strikes what the plan says, and nothing else. */

const HOOK = fileURLToPath(new URL("faults.cjs", import.meta.url));
let folder: string;
let run: string;

beforeEach(() => {
  folder = newFolder();
  run = join(folder, "run");
  mkdirSync(run);
  writeFileSync(join(run, "there"), "");
});

/** Runs the body of an async function with `fs`, `run` and `say`; what it said, and how it ended. */
function inProcess(at: object[], body: string) {
  const plan = { run, log: join(folder, "strikes"), name: "test", seed: 1, at };
  const text = `import fs from "node:fs"; import * as named from "node:fs"; import cp from "node:child_process";
const run = process.argv[1]; const say = (x) => fs.writeSync(1, JSON.stringify(x) + "\\n");
const told = ({ code, errno, syscall }) => say({ code, errno, syscall });
${body}`;
  const args = ["--input-type=module", "--eval", text, run];
  const { stdout, stderr, signal } = spawnSync(process.execPath, args, {
    env: {
      ...process.env,
      NODE_OPTIONS: `--require ${HOOK}`,
      STORM_FAULTS: JSON.stringify(plan),
    },
    encoding: "utf8",
  });
  const said = stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
  return { said, stderr, signal };
}

const strikes = () => readFileSync(join(folder, "strikes"), "utf8").trim().split("\n");

describe("errors", () => {
  test("EDQUOT has no name, as in node", () => {
    const { said, stderr } = inProcess(
      [{ call: 1, what: "single", code: "EDQUOT" }],
      `try { fs.writeFileSync(run + "/new", "x"); } catch (error) { told(error); }
       fs.writeFileSync(run + "/new", "x"); say("well");`,
    );
    expect(stderr).toBe("");
    const code = "Unknown system error -122";
    expect(said).toMatchObject([{ code, errno: -122 }, "well"]);
  });

  test.each([
    ["sync", `try { named.renameSync(run + "/there", run + "/b"); } catch (e) { told(e); }`],
    ["callback", `fs.rename(run + "/there", run + "/b", (e) => told(e));`],
    ["promise", `await fs.promises.rename(run + "/there", run + "/b").catch(told);`],
  ])("a call that fails has done nothing (%s)", (_, body) => {
    const { said } = inProcess([{ call: 1, what: "single", code: "EIO" }], body);
    expect(said).toEqual([{ code: "EIO", errno: -5, syscall: "rename" }]);
    expect(readFileSync(join(run, "there"), "utf8")).toBe("");
  });

  test("a burst strikes only calls that can fail so, and ends", () => {
    const { said } = inProcess(
      [{ call: 1, what: "burst", code: "ENOSPC", ms: 300 }],
      `const write = () => { try { fs.appendFileSync(run + "/there", "x"); say("well"); } catch (e) { say(e.code); } };
       write(); write();
       fs.readFileSync(run + "/there"); fs.unlinkSync(run + "/there"); say("read, unlinked");
       await new Promise((resolve) => setTimeout(resolve, 400));
       write();`,
    );
    expect(said).toEqual(["ENOSPC", "ENOSPC", "read, unlinked", "well"]);
  });

  test("no process can be started with EMFILE", () => {
    const body = `cp.spawn("true").on("error", told); say(cp.spawnSync("true").error.code);`;
    const { said } = inProcess([{ call: 1, what: "burst", code: "EMFILE", ms: 60_000 }], body);
    expect(said).toEqual(["EMFILE", { code: "EMFILE", errno: -24, syscall: "spawn true" }]);
  });

  test("what lies elsewhere is left alone", () => {
    const { said } = inProcess(
      [{ call: 1, what: "burst", code: "EIO", ms: 60_000 }],
      `fs.writeFileSync(run + "-beside", "x"); fs.readdirSync("/proc"); say("well");`,
    );
    expect(said).toEqual(["well"]);
  });
});

test("a short write takes half, and the next one fails", () => {
  const { said } = inProcess(
    [{ call: 1, what: "short", code: "ENOSPC" }],
    `const fd = fs.openSync(run + "/there", "a");
     say(fs.writeSync(fd, "12345678"));
     try { fs.writeSync(fd, "5678"); } catch (error) { told(error); }`,
  );
  expect(said).toMatchObject([4, { code: "ENOSPC" }]);
  expect(readFileSync(join(run, "there"), "utf8")).toBe("1234");
});

test("a process that dies does so at a call that changes something", () => {
  const { said, signal } = inProcess(
    [{ call: 1, what: "die" }],
    `fs.readFileSync(run + "/there"); say("read"); fs.renameSync(run + "/there", run + "/b"); say("no");`,
  );
  expect({ said, signal }).toEqual({ said: ["read"], signal: "SIGKILL" });
  expect(strikes()[0]).toMatch(/^[\d.]+ test \d+ die rename /);
});

test("a slow fsync is slow, and done", () => {
  const { said } = inProcess(
    [{ call: 1, what: "slow", ms: 50 }],
    `const fd = fs.openSync(run + "/there", "a"); fs.fsyncSync(fd); say("synced");`,
  );
  expect(said).toEqual(["synced"]);
  expect(strikes()[0]).toMatch(/ slow fsync /);
});
