import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { idsIn, readStatus, swarm } from "./company.ts";
import { cli, printed, refused, run, SILENT, TIME, timeless, useNewRun } from "./swarm-cli.ts";

beforeEach(useNewRun);

const SHOWN = `{
  "schema_version": "0.1",
  "run_id": "audit",
  "checkpoint": {
    "summary": "Plan \\u2192 code",
    "next_step": "go on",
    "next_task_id": "t.2",
    "risk": "",
    "completed_tasks": [],
    "current_worker": null,
    "timestamp": "TIME",
    "resume_command": null
  },
  "metadata": {
    "a": {
      "b": 1
    },
    "z": []
  }
}`;

describe("status", () => {
  test("status-init writes what status-show prints", async () => {
    const given = ["--summary", "Plan → code", "--next-step", "go on", "--next-task-id", "t.2"];
    const metadata = ["--metadata", '{"z": [], "a": {"b": 1}}'];
    expect(await cli("status-init", "--run-id", "audit", ...given, ...metadata)).toEqual(SILENT);
    expect(timeless(await cli("status-show"))).toEqual(printed(SHOWN));
  });

  test("status-init writes swarm-lib's bytes, with every flag", async () => {
    const given = ["--summary", "S", "--next-step", "N", "--next-task-id", "t.2"];
    const metadata = ["--metadata", '{"z": 1.0, "big": 12345678901234567890, "a": 1e-7}'];
    await cli("status-init", "--run-id", "audit 7", ...given, ...metadata);
    expect(readFileSync(join(run, "status.json"), "utf8").replace(TIME, '"TIME"')).toBe(`{
  "checkpoint": {
    "completed_tasks": [],
    "current_worker": null,
    "next_step": "N",
    "next_task_id": "t.2",
    "resume_command": null,
    "risk": "",
    "summary": "S",
    "timestamp": "TIME"
  },
  "metadata": {
    "a": 1e-07,
    "big": 12345678901234567890,
    "z": 1.0
  },
  "run_id": "audit 7",
  "schema_version": "0.1"
}`);
  });

  test("status-init starts afresh", async () => {
    await swarm(run, "init", ["old"]);
    await swarm(run, "append_completed", ["t.1"]);
    await cli("status-init", "--run-id", "new");
    expect(readStatus(run)).toMatchObject({
      run_id: "new",
      checkpoint: { summary: "Initialized", completed_tasks: [] },
    });
  });

  test("status-write keeps what is completed, merges metadata and empties the rest", async () => {
    await swarm(run, "init", ["r"]);
    await swarm(run, "append_completed", ["t.1"]);
    await swarm(run, "note_metadata", ["theirs"]);
    const first = ["--risk", "high", "--current-worker", "w.1", "--next-task-id", "t.9"];
    await cli("status-write", "--summary", "s1", "--next-step", "n1", ...first);
    const second = ["--metadata", '{"ours": 1}'];
    expect(await cli("status-write", "--summary", "s2", "--next-step", "n2", ...second)).toEqual(
      SILENT,
    );
    expect(readStatus(run)).toMatchObject({
      run_id: "r",
      checkpoint: {
        summary: "s2",
        next_step: "n2",
        risk: "",
        current_worker: null,
        next_task_id: null,
        completed_tasks: ["t.1"],
      },
      metadata: { theirs: true, ours: 1 },
    });
  });

  test("status-write makes a status.json where there is none, named after the folder", async () => {
    expect(await cli("status-write", "--summary", "s", "--next-step", "n")).toEqual(SILENT);
    expect(readStatus(run)).toMatchObject({ run_id: "run", checkpoint: { summary: "s" } });
  });

  test("status-show fills in what is missing and drops what it does not know", async () => {
    mkdirSync(run);
    const text = '{"checkpoint": {"mine": 1}, "metadata": {"2": 1.0, "1": 12345678901234567890}}';
    writeFileSync(join(run, "status.json"), text);
    expect((await cli("status-show")).stdout).toBe(`{
  "schema_version": "0.0",
  "run_id": "run",
  "checkpoint": {
    "summary": "",
    "next_step": "",
    "next_task_id": null,
    "risk": "",
    "completed_tasks": [],
    "current_worker": null,
    "timestamp": "",
    "resume_command": null
  },
  "metadata": {
    "2": 1.0,
    "1": 12345678901234567890
  }
}
`);
    expect(readdirSync(run)).toEqual(["status.json"]);
  });

  test("status-show ends with 1 when there is none, with 2 when it cannot be read", async () => {
    const path = join(run, "status.json");
    expect(await cli("status-show")).toEqual(refused(1, `error: No status.json at ${path}\n`));
    expect(existsSync(run)).toBe(false);
    mkdirSync(run);
    writeFileSync(path, '{"schema_version": "1.0"}');
    const unknown = `error: Unknown schema_version '1.0' in ${path}; swarm-cli reads 0.x\n`;
    expect(await cli("status-show")).toEqual(refused(2, unknown));
    writeFileSync(path, "{");
    expect((await cli("status-show")).code).toBe(2);
  });
});

test("resume_command is shown, and never run", async () => {
  await cli("status-init", "--run-id", "r");
  const path = join(run, "status.json");
  const trap = join(run, "trap");
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace('"resume_command": null', `"resume_command": "touch ${trap}"`));
  for (const command of ["status-show", "ls", "reap"]) await cli(command);
  await cli("claim", "--worker-id", "w");
  expect((await cli("status-show")).stdout).toContain(`"resume_command": "touch ${trap}"`);
  expect(existsSync(trap)).toBe(false);
});

describe("heartbeat and reap", () => {
  test("heartbeat writes the note and nothing else; without one the file is empty", async () => {
    const text = () => readFileSync(join(run, "claimed/w.1/.heartbeat"), "utf8");
    expect(await cli("heartbeat", "--worker-id", "w.1", "--note", "t.1")).toEqual(SILENT);
    expect(text()).toBe("t.1");
    expect(await cli("heartbeat", "--worker-id", "w.1", "--note", "")).toEqual(SILENT);
    expect(text()).toBe("");
    await cli("heartbeat", "--worker-id", "w.1", "--note", "two\nlines");
    expect(text()).toBe("two\nlines");
    await cli("heartbeat", "--worker-id", "w.1");
    expect(text()).toBe("");
  });

  test("the heartbeat of an earlier version, which has its own lines behind the note", async () => {
    await cli("heartbeat", "--worker-id", "w.1", "--note", "ours");
    const [stamp] = readFileSync(join(run, ".viv/heartbeats/w.1"), "utf8").split("\n");
    writeFileSync(join(run, "claimed/w.1/.heartbeat"), `theirs\n${stamp}\ntypes ["a"]\n`);
    const store = await openRun(run);
    expect(await store.workers()).toMatchObject([{ name: "w.1", note: "theirs", alive: true }]);
    await store.close();
  });

  test("a worker_loop's files beside its claims are in order", async () => {
    await swarm(run, "enqueue", ["t.1"]);
    await swarm(run, "claim", ["w.1"]);
    await cli("heartbeat", "--worker-id", "w.1", "--note", "t.1");
    writeFileSync(join(run, "claimed/w.1/.heartbeat-note"), "t.1\n");
    const store = await openRun(run);
    expect(await store.doctor()).toMatchObject({ findings: [] });
    expect(await store.workers()).toMatchObject([{ name: "w.1", note: "t.1", alive: true }]);
    await store.close();
  });

  test("reap reports lost claims and live workers", async () => {
    await swarm(run, "enqueue", ["t.1"], ["t.2"], ["t.3"]);
    await swarm(run, "claim", ["a"], ["b"], ["c"]);
    await swarm(run, "heartbeat", ["b"], ["c"]);
    const long = Date.now() / 1000 - 1000;
    utimesSync(join(run, "claimed/c/.heartbeat"), long, long);
    const { code, stdout, stderr } = await cli("reap", "--stale-after", "500");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.replace(/10\d\d\.\d+$/m, "AGE")).toBe(`{
  "run_dir": "${run}",
  "stale_after_seconds": 500,
  "reaped_count": 2,
  "reaped": [
    {
      "worker_id": "a",
      "task_id": "t.1",
      "age_seconds": -1.0
    },
    {
      "worker_id": "c",
      "task_id": "t.3",
      "age_seconds": AGE
    }
  ],
  "skipped_live": [
    "b"
  ]
}
`);
    expect(idsIn(run, "pending")).toEqual(["t.1", "t.3"]);
  });

  test("reap of a run that is not there yet makes it, and has nothing to report", async () => {
    expect(await cli("reap")).toEqual(
      printed(
        "{",
        `  "run_dir": "${run}",`,
        '  "stale_after_seconds": 300,',
        '  "reaped_count": 0,',
        '  "reaped": [],',
        '  "skipped_live": []',
        "}",
      ),
    );
    expect(existsSync(join(run, "pending"))).toBe(true);
  });
});
