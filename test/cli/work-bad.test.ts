import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { newFolder } from "../support/folders.ts";
import { DIST } from "../support/processes.ts";
import { cli, ok } from "./support.ts";

/** Handlers that misbehave: a clear word on their own task, and no other task is hurt. */

let home: string;
let run: string;

beforeEach(async () => {
  home = newFolder();
  run = join(home, "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  // `bad` is for the handler under test; `good` comes before and after it.
  await store.enqueue({ id: "good.1", type: "good" });
  await store.enqueue({ id: "bad", type: "bad" });
  await store.enqueue({ id: "good.2", type: "good" });
  await store.close();
  writeFileSync(join(home, "good.sh"), "#!/bin/sh\necho fine\n");
  chmodSync(join(home, "good.sh"), 0o755);
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const around = () => ({ cwd: home, env: { PATH: process.env.PATH ?? "", HOME: home } });

/** Drains the run with `text` as the bad handler, and looks at what became of all three. */
async function misbehave(text: string, route = "", flags: string[] = ["--drain"]) {
  writeFileSync(join(home, "bad.sh"), `#!/bin/sh\n${text}\n`);
  chmodSync(join(home, "bad.sh"), 0o755);
  writeFileSync(
    join(home, "viv.toml"),
    `run = "run"\n[handlers.good]\nhandler = "./good.sh"\n[handlers.bad]\nhandler = "./bad.sh"\n${route}\n[limits]\nlog = "100kB"\n`,
  );
  const said = await cli(["work", "--worker-id", "w1", ...flags], around());
  for (const id of ["good.1", "good.2"]) expect((await show(id)).state, id).toBe("done");
  const bad = await show("bad");
  // A drain tells of a task that failed; one that was moved by hand has no line in the ledger.
  expect(said.status, said.stderr).toBeLessThanOrEqual(bad.state === "failed" ? 1 : 0);
  return bad;
}

async function show(id: string) {
  return JSON.parse(await ok(["show", "--json", id], around()));
}

const artifact = (name: string) => join(run, "artifacts", name);

describe("output and input", () => {
  test("thirty megabytes: the log keeps its head and its tail, and says what is missing", async () => {
    const view = await misbehave(
      "echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo last",
    );
    expect(view.state).toBe("done");
    expect(statSync(artifact("bad.log")).size).toBeLessThan(110_000);
    const log = readFileSync(artifact("bad.log"), "utf8");
    expect(log.startsWith("first\n")).toBe(true);
    expect(log.endsWith("last\n")).toBe(true);
    expect(log).toMatch(/\[viv: 29\d{6} bytes dropped\]/);
  });

  test("a task that is not read, or not to its end", async () => {
    const store = await openRun(run, { durability: "fast" });
    await store.enqueue({ id: "big", type: "bad", payload: { text: "x".repeat(5_000_000) } });
    await store.close();
    expect((await misbehave("exec 0<&-; echo deaf")).state).toBe("done");
    expect((await show("big")).state).toBe("done");
  });

  test("a link in the place of its log is not written through", async () => {
    const outside = join(home, "outside");
    writeFileSync(outside, "untouched");
    const view = await misbehave(
      `ln -sf ${outside} "$VIV_LOG_PATH"; echo more; exit 1`,
      'max_attempts = 2\nbackoff = "10ms"',
    );
    expect(view.state).toBe("failed");
    expect(readFileSync(outside, "utf8")).toBe("untouched");
  });
});

describe("its own things", () => {
  test("no artifact is no error", async () => {
    expect((await misbehave("true")).state).toBe("done");
    expect(existsSync(artifact("bad.md"))).toBe(false);
  });

  test("without its workspace the proof fails, and says why", async () => {
    const view = await misbehave(
      'rm -rf "$VIV_WORKSPACE"',
      'workspace = "dir"\ndone_when = "true"',
    );
    expect(view.state).toBe("failed");
    expect(view.history[0]).toMatchObject({ outcome: "unproven" });
    expect(view.history[0].note).toMatch(/folder.*not there|is gone/);
  });

  test("a claim that it moves away is not counted", async () => {
    const view = await misbehave(
      'mv "$VIV_RUN/claimed/w1/bad.json" "$VIV_RUN/failed/bad.json"; echo done',
    );
    expect(view.state).toBe("failed");
    expect(view.history.filter((one: { outcome?: string }) => one.outcome === "done")).toEqual([]);
  });

  test("what it leaves in the background is ended with it", async () => {
    const view = await misbehave(`setsid sleep 1000 & echo $! > ${home}/pid; sleep 0.05`);
    expect(view.state).toBe("done");
    const pid = readFileSync(join(home, "pid"), "utf8").trim();
    let stat = "";
    try {
      stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    } catch {} // gone
    expect(stat === "" || /\) [ZX] /.test(stat), stat).toBe(true);
  });
});

describe("the things of others", () => {
  test("a file in another worker's folder does no harm", async () => {
    const view = await misbehave(
      'mkdir -p "$VIV_RUN/claimed/w2" && echo junk > "$VIV_RUN/claimed/w2/strange.json"; exit 1',
      "",
      // Not --drain: w2 might be a worker with that claim.
      ["--max-tasks", "3"],
    );
    expect(view.state).toBe("failed");
  });

  test("a hundred children at once", async () => {
    const viv = `"${process.execPath}" "${join(DIST, "viv.cjs")}"`;
    const view = await misbehave(
      `i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo "{\\"type\\":\\"good\\",\\"id\\":\\"child.$i\\"}"; done | ${viv} enqueue --jsonl - --durability fast`,
      "",
      ["--drain", "--concurrency", "4"],
    );
    expect(view.state).toBe("done");
    const counts = JSON.parse(await ok(["ls", "--json"], around())).counts;
    expect(counts).toMatchObject({ done: 103, pending: 0, claimed: 0 });
    expect((await show("child.100")).task.parent).toBe("bad");
  });
});
