import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { idsIn, readStatus, swarm, swarmCli } from "./company.ts";
import {
  claim,
  cli,
  complete,
  enqueue,
  folder,
  printed,
  refused,
  run,
  SILENT,
  TIME,
  timeless,
  useNewRun,
} from "./swarm-cli.ts";

beforeEach(useNewRun);

describe("enqueue", () => {
  test("publishes to pending/, in swarm-lib's bytes, in a run it makes without a status.json", async () => {
    const payload = '{"who": "wörld", "n": [1, 2.5], "a": {}}';
    const asked = await enqueue(
      "t.1",
      "--payload",
      payload,
      "--depends-on",
      "a,b",
      "--tier-hint",
      "haiku",
    );
    expect(asked).toEqual(SILENT);
    const text = readFileSync(join(run, "pending/t.1.json"), "utf8").replace(TIME, '"TIME"');
    expect(text).toBe(`{
  "created_at": "TIME",
  "created_by": null,
  "deadline": null,
  "depends_on": [
    "a",
    "b"
  ],
  "payload": {
    "a": {},
    "n": [
      1,
      2.5
    ],
    "who": "w\\u00f6rld"
  },
  "run_id": "run",
  "task_id": "t.1",
  "task_type": "greet",
  "tier_hint": "haiku"
}`);
    expect(existsSync(join(run, "status.json"))).toBe(false);
    expect(readdirSync(join(run, "pending"))).toEqual(["t.1.json"]);
  });

  test("takes the run's id from status.json", async () => {
    await swarm(run, "init", ["audit-7"]);
    await enqueue("t.1", "--created-by", "me");
    const task = JSON.parse(readFileSync(join(run, "pending/t.1.json"), "utf8"));
    expect(task).toMatchObject({
      run_id: "audit-7",
      created_by: "me",
      payload: {},
      depends_on: [],
    });
  });

  test("keeps numbers as Python writes them, through claim and complete", async () => {
    const payload = '{"f": 1.0, "small": 1e-7, "big": 12345678901234567890, "e": 1E5, "n": -0.50}';
    expect(await enqueue("t.1", "--payload", payload)).toEqual(SILENT);
    const kept =
      '{"big": 12345678901234567890, "e": 100000.0, "f": 1.0, "n": -0.5, "small": 1e-07}';
    const file = () => readFileSync(join(run, "pending/t.1.json"), "utf8");
    const flat = (text: string) =>
      text.replace(/\n +/g, " ").replace(/\{ | ?\n?\s*\}/g, (c) => c.trim());
    expect(flat(file())).toContain(`"payload": ${kept}`);
    expect((await claim()).stdout).toContain(`"payload": ${kept}`);
    const before = readFileSync(join(run, "claimed/w.1/t.1.json"), "utf8");
    await complete("t.1", "--success");
    expect(readFileSync(join(run, "done/t.1.json"), "utf8")).toBe(before);
  });

  test.each(["code review", "", "über/x\ty"])(
    "takes the type %j, and claims by it",
    async (type) => {
      const asked = ["--task-id", "t.1", "--task-type", type];
      expect(await cli("enqueue", ...asked)).toEqual(SILENT);
      expect(await claim("w.1", "--task-type-filter", "other")).toEqual(SILENT);
      const filter = type === "" ? [] : ["--task-type-filter", `x,${type}`];
      expect(JSON.parse((await claim("w.1", ...filter)).stdout)).toMatchObject({ task_type: type });
    },
  );

  test("names the run by its folder, whatever that is called", async () => {
    const odd = join(folder, "my run #1");
    const args = ["--run-dir", odd, "--task-id", "t.1", "--task-type", "x"];
    expect(await swarmCli(["enqueue", ...args])).toEqual(SILENT);
    const task = JSON.parse(readFileSync(join(odd, "pending/t.1.json"), "utf8"));
    expect(task.run_id).toBe("my run #1");
  });

  test.each([
    ["an id that leaves the folder", ["--task-id", "../x"], /^error: task id "\.\.\/x" .+\n$/],
    ["an id with a slash", ["--task-id", "a/b"], /^error: task id "a\/b" .+\n$/],
    ["a dependency that is no id", ["--depends-on", "a,../b"], /^error: task id "\.\.\/b" .+\n$/],
    ["malformed JSON", ["--payload", "{who: 1}"], /^error: --payload is not valid JSON: .+\n$/],
    ["a list", ["--payload", "[1]"], /^error: --payload must be a JSON object, .+\n$/],
    ["NaN", ["--payload", '{"a": NaN}'], /^error: --payload has the number NaN, .+\n$/],
    ["null", ["--payload", "null"], /^error: --payload must be a JSON object, .+\n$/],
  ])("refuses %s", async (_, args, message) => {
    const { code, stdout, stderr } = await enqueue("t.1", ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(message);
    expect(idsIn(run, "pending")).toEqual([]);
    expect(existsSync(join(folder, "x.json"))).toBe(false);
  });
});

describe("claim", () => {
  test("prints the task on one line as json.dumps does, and moves it", async () => {
    await enqueue("t.1", "--payload", '{"who": "wörld", "n": [1, 2.5]}');
    expect(timeless(await claim())).toEqual(
      printed(
        '{"task_id": "t.1", "task_type": "greet", "run_id": "run", "created_at": "TIME", ' +
          '"payload": {"n": [1, 2.5], "who": "w\\u00f6rld"}, "depends_on": [], ' +
          '"tier_hint": null, "created_by": null, "deadline": null}',
      ),
    );
    expect(readdirSync(join(run, "claimed/w.1"))).toEqual(["t.1.json"]);
  });

  test("prints nothing when there is nothing to do, and makes the run", async () => {
    expect(await claim()).toEqual(SILENT);
    expect(existsSync(join(run, "claimed/w.1"))).toBe(true);
    expect(existsSync(join(run, "status.json"))).toBe(false);
  });

  test("takes a task that Python published, its numbers untouched", async () => {
    await swarm(run, "enqueue", ["t.1", [], { big: 1 }]);
    const path = join(run, "pending/t.1.json");
    const text = readFileSync(path, "utf8").replace(
      '"big": 1',
      '"big": 12345678901234567890, "f": 1.0',
    );
    writeFileSync(path, text);
    const { stdout } = await claim();
    expect(stdout).toContain('"payload": {"big": 12345678901234567890, "f": 1.0}');
  });

  test("takes only the types of the filter", async () => {
    await swarm(
      run,
      "enqueue",
      ["t.1", [], {}, "plan"],
      ["t.2", [], {}, "code"],
      ["t.3", [], {}, "test"],
    );
    const ids = [];
    for (let i = 0; i < 3; i++) {
      const { stdout } = await claim("w.1", "--task-type-filter", "test,code");
      ids.push(stdout === "" ? null : JSON.parse(stdout).task_id);
    }
    expect(ids.sort()).toEqual(["t.2", "t.3", null].sort());
    expect(idsIn(run, "pending")).toEqual(["t.1"]);
  });

  test("leaves a task with open dependencies, until its dependency was completed", async () => {
    await enqueue("t.1", "--depends-on", "t.2");
    await enqueue("t.2");
    expect(JSON.parse((await claim()).stdout).task_id).toBe("t.2");
    expect(await claim()).toEqual(SILENT);
    expect(await complete("t.2", "--success")).toEqual(SILENT);
    expect(JSON.parse((await claim()).stdout).task_id).toBe("t.1");
  });

  test("refuses a worker's name that leaves the folder", async () => {
    await enqueue("t.1");
    const { code, stderr } = await claim("../../w");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: worker name "\.\.\/\.\.\/w" .+\n$/);
    expect(idsIn(run, "pending")).toEqual(["t.1"]);
  });
});

describe("complete", () => {
  test("moves to done/ and lists it in status.json before it exits", async () => {
    await cli("status-init", "--run-id", "r");
    for (const id of ["t.1", "t.2", "t.3"]) {
      await enqueue(id);
      await claim();
      expect(await complete(id, "--success")).toEqual(SILENT);
      expect(readStatus(run).checkpoint.completed_tasks.at(-1)).toBe(id);
    }
    expect(readStatus(run).checkpoint.completed_tasks).toEqual(["t.1", "t.2", "t.3"]);
    expect(idsIn(run, "done")).toEqual(["t.1", "t.2", "t.3"]);
  });

  test("makes no status.json where there is none", async () => {
    await enqueue("t.1");
    await claim();
    await complete("t.1", "--success");
    expect(existsSync(join(run, "status.json"))).toBe(false);
  });

  test("moves to failed/, which status.json does not list", async () => {
    await cli("status-init", "--run-id", "r");
    await enqueue("t.1");
    await claim();
    expect(await complete("t.1", "--failure")).toEqual(SILENT);
    expect(idsIn(run, "failed")).toEqual(["t.1"]);
    expect(readStatus(run).checkpoint.completed_tasks).toEqual([]);
  });

  test("completes what Python claimed", async () => {
    await swarm(run, "init", ["r"]);
    await swarm(run, "enqueue", ["t.1"]);
    await swarm(run, "claim", ["py.1"]);
    expect(await complete("t.1", "--success", "py.1")).toEqual(SILENT);
    expect(idsIn(run, "done")).toEqual(["t.1"]);
    expect(readStatus(run).checkpoint.completed_tasks).toEqual(["t.1"]);
  });

  test("says where there is no such claim, and makes nothing there", async () => {
    const message = `error: no claimed task at ${run}/claimed/w.1/t.1.json\n`;
    expect(await complete("t.1", "--success")).toEqual(refused(1, message));
    expect(existsSync(run)).toBe(false);
    await enqueue("t.1");
    expect(await complete("t.1", "--failure")).toEqual(refused(1, message));
    expect(idsIn(run, "pending")).toEqual(["t.1"]);
  });

  test("over a newer status.json it moves the task, leaves that file alone and says so", async () => {
    await enqueue("t.1");
    await claim();
    const newer = '{"schema_version": "1.0", "run_id": "r"}';
    writeFileSync(join(run, "status.json"), newer);
    const { code, stdout, stderr } = await complete("t.1", "--success");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(/^warning: completed_tasks .+schema_version "1\.0"/);
    expect(idsIn(run, "done")).toEqual(["t.1"]);
    expect(readFileSync(join(run, "status.json"), "utf8")).toBe(newer);
  });

  test("says when the claimed file cannot be read", async () => {
    await enqueue("t.1");
    await claim();
    writeFileSync(join(run, "claimed/w.1/t.1.json"), "{");
    const { code, stderr } = await complete("t.1", "--success");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: cannot read .+\/claimed\/w\.1\/t\.1\.json: .+\n$/);
    expect(idsIn(run, "done")).toEqual([]);
  });
});
