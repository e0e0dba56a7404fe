import { appendFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { until, within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { cli, ok, Running, type Surroundings, shell } from "./support.ts";

/** Commands that go on for a while: they follow, and they stop when they should. */

let run: string;
let around: Surroundings;

beforeEach(async () => {
  run = join(newFolder(), "run");
  around = { cwd: join(run, ".."), env: { VIV_RUN: run } };
  await say("init", "run");
});

const say = (...args: string[]) => ok(args, around);
const program = (...args: string[]) => new Running([...args, "--run", run]);

async function claimed(id: string): Promise<void> {
  await say("enqueue", "--type", "job", "--id", id);
  await say("claim", "--worker", "w1");
}

describe("watch", () => {
  it("tells every change as it happens, until Ctrl-C", async () => {
    await say("enqueue", "--type", "job", "--id", "t.0");
    const watching = program("watch");
    await watching.says("waiting 0  pending 1  claimed 0");
    await say("enqueue", "--type", "job", "--id", "t.1", "--priority", "high");
    await watching.says(/^\d\d:\d\d:\d\d\.\d{3} {2}t\.1 {2}pending$/m);
    await say("claim", "--worker", "w1");
    await watching.says(/ t\.1 {2}(pending → )?claimed by w1$/m);
    await say("complete", "t.1", "--worker", "w1");
    await watching.says(/ t\.1 {2}claimed → done$/m);
    watching.child.kill("SIGINT");
    const { status, signal, stderr } = await watching.end();
    expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: "" });
  });

  it("--json prints one object per line, and ends on SIGTERM", async () => {
    const watching = program("watch", "--json");
    let i = 0;
    // What comes before the watch stands is not told, so send tasks until one is.
    await until("a change is told", async () => {
      await say("enqueue", "--type", "job", "--id", `t.${i++}`);
      return watching.stdout !== "";
    });
    watching.child.kill("SIGTERM");
    const { status, stdout, stderr } = await watching.end();
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    for (const line of stdout.trimEnd().split("\n")) {
      const change = JSON.parse(line);
      expect(change).toEqual({
        kind: "task",
        id: expect.stringMatching(/^t\.\d+$/),
        from: null,
        to: "pending",
        at: expect.stringMatching(/^\d{4}-.*Z$/),
      });
    }
  });

  it("--until-idle ends at once when nothing is left to do", async () => {
    expect(await cli(["watch", "--until-idle"], around)).toEqual({
      status: 0,
      stdout: "waiting 0  pending 0  claimed 0  review 0  done 0  failed 0\n",
      stderr: "",
    });
    expect(await say("watch", "--until-idle", "--json")).toBe("");
  });

  it("--until-idle ends when the last task does, and has told every step", async () => {
    await claimed("t.1");
    await say("enqueue", "--type", "job", "--id", "t.2", "--depends-on", "t.1");
    let shown = "";
    const onStdout = (text: string) => {
      shown += text;
    };
    const watching = cli(["watch", "--until-idle"], { ...around, onStdout });
    const shows = (text: string) => until(text, () => shown.includes(text));
    // With its first line the watch stands.
    await shows("waiting 1  pending 0  claimed 1 ");
    await say("complete", "t.1", "--worker", "w1");
    await shows("t.2  waiting → pending");
    await say("claim", "--worker", "w2");
    await shows("t.2  pending → claimed");
    await say("fail", "t.2", "--worker", "w2");
    const { status, stdout, stderr } = await within("watch ends", watching);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n").slice(1);
    expect(lines.map((line) => line.slice(14))).toEqual(
      expect.arrayContaining(["t.1  claimed → done", "t.2  claimed → failed"]),
    );
    expect(lines.at(-1)).toContain("t.2  claimed → failed");
  });

  it("--until-idle says that no worker runs for a task, once", async () => {
    await say("enqueue", "--type", "job", "--id", "t.1");
    const watching = program("watch", "--until-idle");
    await watching.says("no worker runs that takes t.1; see: viv why t.1\n");
    await say("cancel", "t.1");
    const { stdout } = await watching.end();
    expect(stdout.split("no worker runs")).toHaveLength(2);
  });

  it("--until-idle as a process", async () => {
    await claimed("t.1");
    await say("enqueue", "--type", "job", "--id", "t.2");
    const watching = program("watch", "--until-idle");
    await watching.says("pending 1  claimed 1");
    await say("complete", "t.1", "--worker", "w1");
    await watching.says(/ t\.1 {2}claimed → done\n/);
    await say("cancel", "t.2");
    expect(await watching.end()).toMatchObject({ status: 0, stderr: "" });
  });
});

describe("logs -f", () => {
  const log = (id: string) => join(run, `artifacts/${id}.log`);

  it("follows a growing log and ends with the task", async () => {
    await claimed("t.1");
    const following = program("logs", "t.1", "-f");
    writeFileSync(log("t.1"), "one\n");
    await following.says("one\n");
    appendFileSync(log("t.1"), "two ");
    await following.says("two ");
    appendFileSync(log("t.1"), "halves\n");
    await following.says("two halves\n");
    appendFileSync(log("t.1"), "last\n");
    await say("complete", "t.1", "--worker", "w1");
    expect(await following.end()).toEqual({
      status: 0,
      signal: null,
      stdout: "one\ntwo halves\nlast\n",
      stderr: "",
    });
  });

  it("ends on Ctrl-C, cleanly", async () => {
    await claimed("t.1");
    writeFileSync(log("t.1"), "one\n");
    const following = program("logs", "t.1", "--follow");
    await following.says("one\n");
    following.child.kill("SIGINT");
    expect(await following.end()).toEqual({ status: 0, signal: null, stdout: "one\n", stderr: "" });
  });

  it("begins anew when another attempt does", async () => {
    await claimed("t.1");
    writeFileSync(log("t.1"), "the first attempt\n");
    const following = program("logs", "t.1", "-f");
    await following.says("the first attempt\n");
    writeFileSync(log("t.1"), "second\n");
    await following.says("second\n");
    await say("complete", "t.1", "--worker", "w1");
    expect((await following.end()).stdout).toBe("the first attempt\nsecond\n");
  });

  it("of a task that has ended does not wait", async () => {
    await claimed("t.1");
    writeFileSync(log("t.1"), "all\n");
    await say("complete", "t.1", "--worker", "w1");
    expect(await say("logs", "t.1", "-f")).toBe("all\n");
  });
});

describe("logs -f of all workers", () => {
  const log = (id: string) => join(run, `artifacts/${id}.log`);
  const take = async (id: string, worker: string, type = "job") => {
    await say("enqueue", "--type", type, "--id", id);
    await say("claim", "--worker", worker);
  };

  it("shows attempts that run, joins those that begin, and says how each ended", async () => {
    await take("t.1", "w1");
    writeFileSync(log("t.1"), `${"old\n".repeat(1_000)}last of before\n`);
    const all = program("logs", "-f");
    await all.says("w1 t.1 | last of before\n");
    await take("t.22", "worker2");
    writeFileSync(log("t.22"), "hello\n");
    await all.says("worker2 t.22 | hello\n");
    appendFileSync(log("t.1"), "one\r\nwithout an end");
    await all.says("w1      t.1  | one\n");
    await all.says("w1      t.1  | without an end\n");
    appendFileSync(log("t.22"), "to the end");
    await say("fail", "t.22", "--worker", "worker2", "--note", "exit 1");
    await all.says(/worker2 t\.22 \| to the end\nworker2 t\.22 \| failed: exit 1\n/);
    // The next attempt begins its log anew.
    writeFileSync(log("t.1"), "again\n");
    await all.says("w1      t.1  | again\n");
    await say("complete", "t.1", "--worker", "w1");
    await all.says("w1      t.1  | done\n");
    all.child.kill("SIGINT");
    const { status, stdout, stderr } = await all.end();
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.match(/old/g)?.length).toBeLessThan(600);
  });

  it("follows some of them, in bounded memory, through lines of megabytes", async () => {
    const only = program("logs", "-f", "--worker", "w1", "--types", "fix", "--json");
    const idle = program("logs", "-f", "--types", "none");
    await until("it says so", () => idle.stderr.includes("nothing is being worked on"));
    await only.says(/"event":"idle"/);
    await take("t.1", "w1", "other");
    await take("t.2", "w2", "fix");
    await take("t.3", "w1", "fix");
    for (const id of ["t.1", "t.2"]) writeFileSync(log(id), "not for us\n");
    writeFileSync(log("t.3"), "x".repeat(5_000_000));
    await say("complete", "t.3", "--worker", "w1");
    await only.says(/"event":"ended".*"outcome":"done"/);
    for (const one of [only, idle]) one.child.kill("SIGTERM");
    const { stdout } = await only.end();
    expect((await idle.end()).stdout).toBe("");
    const news = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(news.filter(({ event }) => event !== "idle").every(({ id }) => id === "t.3")).toBe(true);
    const lines = news.filter(({ event }) => event === "line").map(({ text }) => text.length);
    expect(lines.reduce((sum, length) => sum + length, 0)).toBe(5_000_000);
    expect(Math.max(...lines)).toBe(8 * 1024);
  });
});

describe("a reader that has seen enough", () => {
  it("is no error", async () => {
    const stdin = Array.from({ length: 3_000 }, (_, i) => `{"type":"job","id":"t.${i}"}\n`);
    await ok(["enqueue", "--jsonl", "-", "--durability", "fast"], { ...around, stdin });
    const { stdout, stderr } = shell(
      `viv ls --limit 3000 | head -1; echo "\${PIPESTATUS[0]}"
       viv ls --limit 3000 --json | true; echo "\${PIPESTATUS[0]}"
       viv --help | true; echo "\${PIPESTATUS[0]}"`,
      { env: { VIV_RUN: run } },
    );
    expect(stderr).toBe("");
    expect(stdout).toBe(`run  ${run}\n0\n0\n0\n`);
  });

  it("ends a watch at the next change", async () => {
    const watching = program("watch");
    await watching.says("waiting 0");
    watching.child.stdout?.destroy();
    const ended = watching.end();
    let over = false;
    void ended.then(() => {
      over = true;
    });
    let i = 0;
    await until("watch ends", async () => {
      await say("enqueue", "--type", "job", "--id", `t.${i++}`);
      return over;
    });
    expect(await ended).toMatchObject({ status: 0, signal: null, stderr: "" });
  });
});

describe("Ctrl-C", () => {
  it("ends an enqueue that waits for its input", async () => {
    const fresh = join(run, "../fresh");
    const waiting = new Running(["enqueue", "--run", fresh, "--jsonl", "-"]);
    await until("it has made the run", () => existsSync(join(fresh, "status.json")));
    waiting.child.kill("SIGINT");
    await within("enqueue ends", waiting.end(), 3);
  });

  it.each(["safe", "fast"])(
    "ends an enqueue of a long file at the next line, and says how many are in: %s",
    async (how) => {
      const file = join(run, "../long.jsonl");
      const lines = Array.from({ length: 60_000 }, (_, i) => `{"type":"x","id":"t.${i}"}\n`);
      writeFileSync(file, lines.join(""));
      const long = program("enqueue", "--jsonl", file, "--durability", how, "--json");
      const isIn = () => readdirSync(join(run, "pending")).filter((name) => name.endsWith(".json"));
      await until("the first is in", () => isIn().length > 0);
      long.child.kill("SIGINT");
      const { status, stdout } = await long.end();
      expect(status).toBe(130);
      const { enqueued } = JSON.parse(stdout);
      expect(enqueued).toBe(isIn().length);
      expect(enqueued).toBeLessThan(lines.length);
    },
  );
});
