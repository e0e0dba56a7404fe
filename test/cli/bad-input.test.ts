import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { NEWSROOM, Repository } from "../board/support.ts";
import { Pit } from "../pit/support.ts";
import { CrewFolder } from "../support/crew-folder.ts";
import { newFolder } from "../support/folders.ts";
import { places, snapshot } from "../support/run-files.ts";
import { cli, ok, type Surroundings, viv } from "./support.ts";

/**
 * Wrong flags, values, names and files, command by command: each is refused with its exit status and
 * one sentence on stderr, and leaves everything as it was.
 */
type Row = readonly [
  args: readonly string[],
  message: string | RegExp,
  status?: number,
  stdin?: string,
];

interface Scene {
  make(): Promise<{ around: Surroundings; state(): unknown }>;
  rows: readonly Row[];
}

/** Task ids, worker names and the like. */
const LONG = "a".repeat(129);
const BAD_NAMES: [string, RegExp][] = [
  ["../x", /"\.\.\/x" must not begin with a dot/],
  ["a/b", /"a\/b" may contain only/],
  [".hidden", /"\.hidden" must not begin with a dot/],
  [".", /must not begin with a dot/],
  ["", /"" is empty/],
  [LONG, /has 129 characters; at most 128/],
  ["a\nb", /"a\\nb" may contain only/],
  ["a\0b", /may contain only/],
  ["a b", /may contain only/],
  ["naïve", /may contain only/],
  ["a\\b", /may contain only/],
];

const folderScene = async (
  prepare: (folder: string, around: Surroundings) => unknown = () => {},
) => {
  const folder = newFolder();
  const env = { VIV_RUN: join(folder, "sub/run"), VIV_STATE: join(folder, "state"), USER: "pia" };
  const around = { cwd: folder, env: { ...env, PATH: process.env.PATH } };
  await prepare(folder, around);
  return { around, state: () => snapshot(folder) };
};

const enqueue = (...flags: string[]) => ["enqueue", "--type", "job", ...flags];
const needs = (command: string, flags: string) => `viv ${command} needs ${flags}`;

const SCENES: Record<string, Scene> = {
  "a folder without a run": {
    make: () => folderScene(),
    rows: [
      [["enqueu"], 'there is no command "enqueu"; did you mean: viv enqueue?'],
      [["calim"], 'there is no command "calim"; did you mean: viv claim?'],
      [["lst"], 'there is no command "lst"; did you mean: viv ls?'],
      [["stauts"], 'there is no command "stauts"; did you mean: viv status?'],
      [["gat"], "did you mean: viv gate?"],
      [["frobnicate"], 'there is no command "frobnicate"; see: viv --help'],
      [["help", "enqueu"], "did you mean: viv enqueue?"],
      [[""], 'there is no command ""; see: viv --help'],
      [["enqueue", "--tpye", "x"], "viv enqueue has no flag --tpye; did you mean --type?"],
      [["ls", "--state", "doen"], "did you mean done?"],
      [enqueue("--priority", "lwo"), '--priority "lwo" is not known; did you mean low?'],
      [["enqueue"], needs("enqueue", "--type; see: viv enqueue --help")],
      [["claim"], needs("claim", "--worker; see: viv claim --help")],
      [["complete", "t.1"], needs("complete", "--worker; see: viv complete --help")],
      [["release", "t.1"], needs("release", "--worker; see: viv release --help")],
      [["heartbeat"], needs("heartbeat", "--worker; see: viv heartbeat --help")],
      [["complete", "--worker", "w1"], needs("complete", "a task: viv complete ID")],
      [["fail", "--worker", "w1"], needs("fail", "a task: viv fail ID")],
      [["retry"], needs("retry", "a task: viv retry ID, or viv retry --all")],
      [["retry", "t.1", "--all"], "name the tasks, or say --all, not both."],
      ...["show", "why", "cancel", "approve", "reject"].map(
        (name): Row => [[name], needs(name, `a task: viv ${name} ID`)],
      ),
      ...[
        ["ls"],
        ["show", "t.1"],
        ["why", "t.1"],
        ["logs", "t.1"],
        ["watch", "--until-idle"],
        ["status"],
        ["doctor"],
        ["doctor", "--fix"],
        ["reap"],
        ["claim", "--worker", "w"],
        ["complete", "t.1", "--worker", "w"],
        ["heartbeat", "--worker", "w"],
        ["cancel", "t.1"],
      ].map((args): Row => [args, "sub/run", 3]),
      [["completion"], "bash, zsh, fish"],
      [["completion", "tcsh"], "bash, zsh, fish"],
    ],
  },
  "a run": {
    make: () => folderScene((_, around) => ok(enqueue("--id", "good"), around)),
    rows: [
      ...BAD_NAMES.flatMap(([name, message]) => {
        const lines: Row[] = [
          enqueue(`--id=${name}`),
          enqueue(`--parent=${name}`),
          ["complete", "--worker", "w", `--id=${name}`],
          ...["show", "why", "logs", "cancel", "retry"].map((verb) => [verb, "--", name]),
          ...(name === "" ? [] : [enqueue(`--depends-on=${name}`)]),
          ["claim", `--worker=${name}`],
          ["heartbeat", `--worker=${name}`],
          ["complete", "good", `--worker=${name}`],
        ].map((args) => [args, message]);
        const stdin = `${JSON.stringify({ type: "job", id: name })}\n`;
        const streamed = new RegExp(`^viv: line 1: .*${message.source}`);
        return [...lines, [["enqueue", "--jsonl", "-"], streamed, 2, stdin] as Row];
      }),
      ...["-", "--", "-rf", "-x.y_z"].flatMap((name): Row[] => {
        const dash = /must not begin with a dash: a shell's \* would pass it as an option/;
        const stdin = `${JSON.stringify({ type: "job", id: name })}\n`;
        return [
          [enqueue(`--id=${name}`), dash],
          [enqueue(`--id=${name}`, "--if-absent"), dash],
          [["enqueue", "--jsonl", "-"], dash, 2, stdin],
          [["claim", `--worker=${name}`], dash],
          [["heartbeat", `--worker=${name}`], dash],
          [["work", "--handler", "/bin/true", "--once", `--worker=${name}`], dash],
        ];
      }),
      ...["", "a b", "a\nb", "\u001b[31m", ".x", LONG].map(
        (type): Row => [["enqueue", `--type=${type}`], "task type"],
      ),
      ...["nope", "", "{'a':1}", '{"a":NaN}'].map(
        (payload): Row => [enqueue("--payload", payload), "--payload is not valid JSON"],
      ),
      ...["[1]", "null", '"text"', "7"].map(
        (payload): Row => [enqueue("--payload", payload), "--payload must be a JSON object"],
      ),
      [enqueue("--payload", '{"a":12345678901234567890}'), "1234567890, which would lose digits"],
      [enqueue("--payload", '{"a":1e999}'), "1e999"],
      [enqueue("--payload", deep(10_000)), "deeper than 500 levels"],
      ...(
        [
          ["--not-before", "tomorrow"],
          ["--not-before", "2026-13-01T00:00:00Z"],
          ["--not-before", "2026-11-15"],
          ["--not-before", "2026-11-15T08:00:00"],
          ["--not-before", ""],
          ["--deadline", "soon"],
          ["--timeout", "5q"],
          ["--timeout", "0s"],
          ["--timeout", "-5m"],
          ["--done-when", "  "],
          ["--max-attempts", "1e9"],
          ["--max-attempts", "0"],
        ] as const
      ).map(([flag, value]): Row => {
        const name = flag.slice(2).replaceAll("-", "[-_]");
        return [enqueue(`${flag}=${value}`), new RegExp(`${name}.* (is|must)`)];
      }),
      ...["[]", "nope", "null", "{"].map(
        (text): Row => [["status", "--metadata", text], "metadata"],
      ),
      [["claim", "--worker", "w", "--limit", "0"], "--limit"],
      [["claim", "--worker", "w", "--limit", "1.5"], "--limit"],
      [["reap", "--stale-after", "-1"], "--stale-after"],
      [["ls", "--limit", "-1"], "--limit"],
      [
        ["logs"],
        "viv logs needs a task: viv logs ID, or follow all that are being worked on: viv logs -f",
      ],
      [["logs", "-f", "--setup"], "viv logs needs a task: viv logs ID --setup; see: viv ls"],
      [["logs", "t.1", "--worker", "w"], "--worker and --types choose among all tasks"],
      ...["show", "why", "logs", "cancel", "retry", "approve", "merge"].map(
        (name): Row => [[name, "t.9"], "there is no task t.9 in this run; see: viv ls", 3],
      ),
      [["costs", "--by", "modle"], '--by "modle" is not known; did you mean model?'],
      [["costs", "--since", "yesterday"], "is not a time; write 2h, 7d, 22:00, 2026-11-15 or"],
      [["costs", "--since", "2026-02-31"], "is not a time"],
      [["costs", "--limit", "0"], "--limit must be at least 1."],
      [["work"], "which handler? Pass --handler PATH"],
      [["work", "--handler", "sleep 1"], "in PATH; arguments go into a script"],
    ],
  },
  "accounts and the gate": {
    make: () =>
      folderScene((_, around) =>
        ok(["accounts", "close", "anthropic-main", "--for", "1h"], around),
      ),
    rows: [
      [["accounts", "open"], "which account? viv accounts open NAME"],
      [["accounts", "close"], "which account"],
      [["accounts", "close", "a"], "for how long? viv accounts close a --for 2h"],
      [["accounts", "close", "a", "--for", "soon"], "not a duration"],
      [["accounts", "close", "a", "--for", "0s"], "more than nothing"],
      [["accounts", "close", "a", "--for", "9999d"], "at most 365d"],
      [["accounts", "close", "../a", "--for", "1h"], "must not begin"],
      [["accounts", "open", "../a"], "account"],
      [["accounts", "open", "antropic-main"], /did you mean anthropic-main\?$/m],
      [["accounts", "frob"], "action"],
      [["gate", "--max", "0"], '--max "0" is no maximum; for no limit: --max none'],
      [["gate", "--max", "non"], "for no limit: --max none"],
      [["gate", "--max", "-1"], "a whole number from 1 to 10000, or none"],
      [["gate", "--max", "1.5"], "whole number"],
      [["gate", "--max", "99999"], "whole number"],
      [["gate", "--max", "many"], "whole number"],
      [["gate", "--max"], "--max needs a value"],
      [["gate", "--mx", "3"], "did you mean --max?"],
      [["gate", "3"], 'does not know what to do with "3"'],
      [
        ["gate", "--state-dir", "nowhere"],
        "nowhere is not there; start the crew with: viv crew up",
      ],
      [["gate", "--state-dir", "."], "has no gate.json"],
    ],
  },
  warden: {
    make: () => folderScene((_, { env }) => delete env?.VIV_RUN),
    rows: [
      [["warrant", "file"], "no target; name one"],
      [["warrant", "file", "x", "--pid", "5"], "more than one target"],
      [["warrant", "file", ""], "empty"],
      [["warrant", "file", "a\nb"], "control characters"],
      [["warrant", "file", "--pid", "0"], "--pid"],
      [["warrant", "file", "--pid", "x"], "is not a number"],
      [["warrant", "file", "--worker", "w"], "which run?"],
      [["warrant", "file", "--worker", "w", "--run", "nowhere"], "nowhere", 3],
      [["warrant", "show", "nope"], "there is no warrant", 3],
      [["warrant", "show", "../../etc/passwd"], "there is no warrant", 3],
      [["warrant", "withdraw", "nope"], "see: viv warrant ls", 3],
      [["epitaph", "nope"], "there is no warrant", 3],
      [["epitaph"], "needs"],
      [["dog", "pool", "release", "dog-1"], "no dog", 3],
      [["dog", "pool", "allocate", "w"], "there is no warrant", 3],
      [["dog", "pol", "status"], "did you mean"],
      [["dog", "pool", "alocate"], "did you mean: viv dog pool allocate?"],
      [["warden", "start"], "viv warden up"],
      [["warden", "up", "--pool", "21"], "--pool"],
      [["warden", "up", "--timeouts", "soon"], "is not a duration"],
      [["warden", "up", "--timeouts", "1s,1s,1s,1s,1s,1s"], "from one to five"],
      [["alive", "k3x9"], "has the nonce k3x9", 3],
      [["alive", "../x"], "is no nonce"],
      [["warrant", "ls", "--state-dir", ""], "--state-dir is empty"],
    ],
  },
  crew: {
    make: async () => {
      const crew = new CrewFolder().member("moss", "true");
      crew.write();
      crew.write("desk.org", "You are the desk.\n");
      const around = { cwd: crew.folder, env: crew.env };
      return { around, state: () => snapshot(crew.folder) };
    },
    rows: [
      [["crew", "up"], "which crew?"],
      [["crew", "up", "nope.org"], "there is no"],
      [["crew", "up", "crew.org", "--max-concurrent", "0"], "--max-concurrent"],
      [["crew", "up", "crew.org", "--boot-grace", "soon"], "--boot-grace"],
      [["crew", "up", "crew.org", "--port", "70000"], "--port"],
      [["keeper", "up", "desk.org", "--engine", "cluade"], /did you mean claude\?$/m],
      [["keeper", "up", "desk.org", "--engine", "exec"], "the engine exec needs a COMMAND"],
      [
        ["keeper", "up", "desk.org", "--budget-usd-day", "lots"],
        '--budget-usd-day "lots" must be a number of dollars',
      ],
      [["keeper", "up", "desk.org", "--interval", "0"], '--interval "0" must be'],
      [["keeper", "up", "desk.org", "--mode", "edti"], /did you mean edit\?$/m],
    ],
  },
  board: {
    make: async () => {
      const repo = new Repository(`${NEWSROOM}*** ASSIGNED Hello, World! — again\n`);
      return { around: { cwd: repo.top }, state: () => [repo.state(), repo.read()] };
    },
    rows: (
      [
        [["claim", "hello-world", "--agent", "moss"], /the name of 2 tasks .*lines 5 and 16/],
        [["claim", "secnd", "--agent", "moss"], "did you mean second?", 3],
        [["claim", "zzzzzzzz", "--agent", "moss"], "see: viv board ls", 3],
        [["claim", "--agent", "moss"], "viv board claim needs"],
        [["claim", "second"], "--agent NAME, or set VIV_AGENT"],
        [["claim", "second", "--agent", "a\nb"], "is not a valid agent name"],
        [["claim", "second", "--agent", "<x>"], "is not a valid agent name"],
        [["claim", "second", "--agent", "moss", "--role", "two words"], "--role is one word"],
        [["claim", "old-news", "--agent", "moss"], "is PUBLISHED and cannot be claimed", 4],
        [["next", "--agent", "moss", "--state", "WRITNG"], "did you mean WRITING?"],
        [["ls", "--state", "nowhere"], "there are ASSIGNED RESEARCH"],
        [["open", "Second thoughts", "--id", "second"], "already (line 7, WRITING)", 4],
        [["open", "…"], "gives no name"],
        ...["-rf", "~x", ".x", "a/b", "a\u0007b"].map(
          (slug): Row => [["open", "A story", `--slug=${slug}`], "is not a name for a task"],
        ),
        [["open", " "], "the title is empty"],
        [["advance", "secnd", "--agent", "moss"], "did you mean second?", 3],
        [["bounce", "secnd", "--agent", "moss", "--note", "x"], "did you mean second?", 3],
        [["log", "secnd"], "did you mean second?", 3],
        [["show", "secnd"], "did you mean second?", 3],
        [["show", "hello-world"], "the name of 2 tasks"],
        [["advance", "second", "--agent", "moss"], /is not claimed by \w+; claim it first/, 4],
        [["bounce", "third-time-lucky", "--agent", "hale"], "a bounce needs a reason"],
        [
          ["advance", "third-time-lucky", "--agent", "hale", "--to", "RESEARCH"],
          "next state is PUBLISHED, not",
          4,
        ],
        [
          ["bounce", "third-time-lucky", "--agent", "hale", "--note", "x", "--to", "KILLED"],
          "does not come before",
          4,
        ],
      ] satisfies Row[]
    ).map(([args, ...expected]): Row => [["board", ...args], ...expected]),
  },
  pit: {
    make: async () => {
      const pit = await Pit.make();
      await pit.toss("x");
      const around = { cwd: pit.home, env: { VIV_RUN: pit.dir, PATH: process.env.PATH } };
      // A refused toss may use up a number.
      const state = () =>
        Object.entries(snapshot(pit.dir)).filter(([path]) => !path.startsWith(".viv/numbers/"));
      return { around, state };
    },
    rows: [
      [["pit", "toss", ""], "viv: "],
      [["pit", "toss", "x", "--after", "../y"], "../y"],
      ...["a.result", "a.food-1", "readme", "a.unproven-1", "../x", "-rf"].map(
        (id): Row => [["enqueue", `--id=${id}`, "--type", "food"], id],
      ),
      ...[
        "a/b",
        "../../evil",
        "..",
        ".",
        ".hidden",
        "a.b",
        "",
        "x".repeat(200),
        "a b",
        "a\nb",
      ].flatMap((name): Row[] => [
        [["work", "--handler", "/bin/true", "--once", "--worker-id", name], /name|letter/],
        [["claim", "--worker", name], /name|letter/],
      ]),
    ],
  },
  service: {
    make: () =>
      folderScene(async (folder, around) => {
        around.env = { PATH: "/usr/bin:/bin", HOME: folder };
        await ok(["init", "audit"], around);
        writeFileSync(join(folder, "handle.sh"), "#!/bin/sh\n");
        chmodSync(join(folder, "handle.sh"), 0o755);
      }),
    rows: [
      [["service"], "viv service install, or uninstall"],
      [["service", "start"], "must be one of install, uninstall"],
      [["service", "install"], "which handler?"],
      [["service", "install", "--handler", "./no"], "no handler at"],
      ...(
        [
          [["--concurrency", "0"], "at least 1"],
          [["--worker-id", "../w"], "worker name"],
          [["--types", "a b"], "task type"],
          [["--grace", "soon"], "not a duration"],
          [["--name", "a/b"], "--name"],
          [["--unit-dir", "handle.sh"], "cannot serve"],
          [["--run", "nowhere"], "nowhere", 3],
        ] satisfies Row[]
      ).map(([args, ...expected]): Row => {
        const install = ["service", "install", "--handler", "./handle.sh", "--unit-dir", "units"];
        return [[...install, ...args], ...expected];
      }),
    ],
  },
};

function deep(levels: number): string {
  return `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
}

it.each(Object.entries(SCENES))("refused, and nothing changes: %s", async (_, { make, rows }) => {
  const { around, state } = await make();
  const before = state();
  for (const [args, message, status = 2, stdin] of rows) {
    const said = await cli(args, { ...around, stdin });
    const line = JSON.stringify(args).slice(0, 200);
    if (typeof message === "string") expect(said.stderr, line).toContain(message);
    else expect(said.stderr, line).toMatch(message);
    expect(said.stderr, line).toMatch(/^viv: [^\n]+\n$/);
    expect({ status: said.status, stdout: said.stdout }, line).toEqual({ status, stdout: "" });
    expect(state(), line).toEqual(before);
  }
});

let folder: string;
let run: string;
let around: Surroundings;

beforeEach(() => {
  folder = newFolder();
  run = join(folder, "sub/run");
  around = { cwd: folder, env: { VIV_RUN: run } };
});

it("no name writes outside the run", async () => {
  await ok(enqueue("--id", "good"), around);
  for (const [name] of BAD_NAMES) {
    await cli(enqueue(`--id=${name}`, "--if-absent"), around);
    await cli(["claim", `--worker=${name}`], around);
  }
  expect(readdirSync(folder)).toEqual(["sub"]);
  expect(readdirSync(join(folder, "sub"))).toEqual(["run"]);
  expect(places(run)).toEqual(new Map([["good", [{ state: "pending" }]]]));
});

it("a payload of 10,000 levels overflows no stack of the real program", () => {
  const said = viv(["enqueue", "--run", run, "--type", "job", "--payload", deep(10_000)]);
  expect(said).toMatchObject({ status: 2, stdout: "" });
  expect(said.stderr).toContain("deeper than 500 levels");
});

describe("accepted", () => {
  it.each(["a".repeat(128), "_x.y-z", "0"])("the id %j", async (id) => {
    await ok(enqueue(`--id=${id}`), around);
    expect(existsSync(join(run, `pending/${id}.json`))).toBe(true);
    await ok(["show", "--", id], around);
  });

  it.each(["-", "--", "-rf"])(
    "the id %j, where an earlier version or swarm-lib has made it",
    async (id) => {
      await ok(enqueue("--id=good"), around);
      const task = JSON.parse(readFileSync(join(run, "pending/good.json"), "utf8"));
      writeFileSync(join(run, `pending/${id}.json`), JSON.stringify({ ...task, task_id: id }));
      await ok(["show", "--", id], around);
      await ok(["why", "--", id], around);
      await ok(enqueue("--id=later", `--depends-on=${id}`), around);
      await ok(["cancel", "--", id], around);
      // As it is shown, so that it can be pasted.
      const { reasons } = JSON.parse(await ok(["why", "--json", "--", id], around));
      expect(reasons[0].command).toBe(`viv retry --id=${id}`);
      await ok(reasons[0].command.split(" ").slice(1), around);
      const claims = await ok(["claim", "--worker=w", "--limit=9", "--json"], around);
      const held = claims
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).task_id);
      expect(held).toContain(id);
      await ok(["complete", "--worker=w", "--", id], around);
      expect(existsSync(join(run, `done/${id}.json`))).toBe(true);
      await ok(["doctor"], around);
    },
  );

  it("a type with the punctuation of paths and versions", async () => {
    await ok(["enqueue", "--type", "team/audit:v1.2@x+y", "--id", "t.1"], around);
  });

  it.each([
    ["a fraction of many digits", '{"a":0.30000000000000004}'],
    [
      "any text",
      JSON.stringify({ a: "ünï 日本 🎉 \u001b[31m \0 \u2028 \ud800", "": [-0.5, 1e21] }),
    ],
  ])("a payload with %s, as it was given", async (_, payload) => {
    await ok(enqueue("--id", "t.1", "--payload", payload), around);
    const { task } = JSON.parse(await ok(["show", "t.1", "--json"], around));
    expect(task.payload).toEqual(JSON.parse(payload));
  });

  it("a payload with __proto__, which pollutes nothing", async () => {
    const payload = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":1}';
    await ok(enqueue("--id", "t.1", "--payload", payload), around);
    const stored = readFileSync(join(run, "pending/t.1.json"), "utf8");
    expect(stored).toContain("__proto__");
    expect(JSON.parse(stored).payload.a).toBe(1);
    await ok(["claim", "--worker", "w", "--max", "9"], around);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
