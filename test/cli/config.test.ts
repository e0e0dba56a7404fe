import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { configSchema } from "../../src/app/settings/schema.ts";
import { newFolder } from "../support/folders.ts";
import { DIST } from "../support/processes.ts";
import { cli, json, ok } from "./support.ts";

let home: string;
beforeEach(() => {
  home = newFolder();
});

const around = (env: Record<string, string> = {}) => ({
  cwd: home,
  env: { PATH: process.env.PATH ?? "", HOME: home, VIV_STATE: join(home, "state"), ...env },
});
const write = (name: string, text: string) => writeFileSync(join(home, name), text);
const handler = (name = "h.sh") => {
  write(name, "#!/bin/sh\n");
  chmodSync(join(home, name), 0o755);
};

describe("viv config check", () => {
  it("tells every mistake with its line, and ends with 1", async () => {
    write("viv.toml", 'rnu = "x"\n[handlers.t]\nhandler = 3\ntimeout = "soon"\n');
    const { status, stdout, stderr } = await cli(["config", "check"], around());
    expect({ status, stderr }).toEqual({ status: 1, stderr: "" });
    expect(stdout.match(/viv\.toml:\d+: .*/g)).toEqual([
      'viv.toml:1: unknown key "rnu"; did you mean "run"?',
      expect.stringMatching(/^viv\.toml:3: handler must be/),
      expect.stringMatching(/^viv\.toml:4: timeout/),
    ]);
  });

  it("refuses names in [merge] that git refuses", async () => {
    write("viv.toml", '[merge]\ninto = "a b"\nremote = "-o x"\n');
    const { status, stdout } = await cli(["config", "check"], around());
    expect(status).toBe(1);
    expect(stdout.match(/viv\.toml:\d+: .*/g)).toEqual([
      expect.stringMatching(/^viv\.toml:2: into must be the name of a branch/),
      expect.stringMatching(/^viv\.toml:3: remote must be the name of a git remote/),
    ]);
    write("viv.toml", '[merge]\ninto = "refs/heads/feature/x"\nremote = "my/fork"\n');
    expect((await cli(["config", "check"], around())).status).toBe(0);
    write("viv.toml", '[merge]\nbody = "pr.md"\n');
    expect((await cli(["config", "check"], around())).stdout).toContain(
      "viv.toml:2: the template of pull requests pr.md does not exist",
    );
  });

  it("warns of what a worker would refuse, and of what is of no use", async () => {
    write(
      "viv.toml",
      'run = "run"\n[handlers.a]\nhandler = "./gone.sh"\n[handlers.b]\nhandler = "./plain.sh"\n[engines.codex]\n',
    );
    write("plain.sh", "");
    await cli(["enqueue", "--type", "lonely"], around());
    const { findings, valid } = await json<{ valid: boolean; findings: { message: string }[] }>(
      ["config", "check"],
      around(),
    );
    expect(valid).toBe(true);
    const lines = findings.map(({ message }) => message);
    expect(lines).toEqual([
      expect.stringMatching(/^\[handlers\.a\]: there is no program .*gone\.sh; correct handler$/),
      expect.stringMatching(/^\[handlers\.b\]: .*plain\.sh is not executable; run: chmod \+x /),
      expect.stringContaining('no route has engine = "codex"'),
      expect.stringContaining("tasks of type lonely wait in the run"),
    ]);
  });

  it("warns of types without a route, of a schedule that cannot fire, and of a missing certificate", async () => {
    handler();
    write("bad.jsonl", '{"type":"t"}\n{"type":"t","pirority":"low"}\n');
    write("some.jsonl", '{"type":"t"}\n{"type":"xx"}\n');
    const schedule = (name: string, line: string) =>
      `[[schedule]]\nname = "${name}"\ncron = "@daily"\n${line}\n`;
    write(
      "viv.toml",
      `[handlers.t]\nhandler = "./h.sh"\n[workers]\ntypes = ["t", "bb"]\n[workers.c]\ntypes = ["cc"]\n` +
        schedule("a", 'jsonl = "no.jsonl"') +
        schedule("b", 'chain = "bad.jsonl"') +
        schedule("c", 'jsonl = "some.jsonl"') +
        schedule("d", 'type = "yy"') +
        schedule("e", 'jsonl = "no.jsonl"\nenabled = false') +
        schedule("f", 'type = "t"') +
        '[server]\ntls_cert = "c.pem"\ntls_key = "k.pem"\n',
    );
    const { status, stdout } = await cli(["config", "check"], around());
    expect(status).toBe(0);
    expect(stdout.match(/viv\.toml:\d+: .*/g)).toEqual([
      expect.stringMatching(
        /^viv\.toml:4: \[workers\]: no route takes tasks of type bb, .*\[handlers\.bb\]/,
      ),
      expect.stringMatching(/^viv\.toml:6: \[workers\.c\]: no route takes tasks of type cc/),
      expect.stringMatching(
        /^viv\.toml:10: \[\[schedule\]\] a cannot fire: .*no\.jsonl is not there/,
      ),
      expect.stringMatching(
        /^viv\.toml:11: \[\[schedule\]\] b cannot fire: bad\.jsonl line 2: .* "priority"/,
      ),
      expect.stringMatching(/^viv\.toml:18: \[\[schedule\]\] c: no route takes tasks of type xx/),
      expect.stringMatching(/^viv\.toml:22: \[\[schedule\]\] d: no route takes tasks of type yy/),
      expect.stringMatching(/^viv\.toml:33: c\.pem of \[server\] cannot be read/),
    ]);
  });

  it("warns of what a crew would drop or park, and of a crew without a member", async () => {
    handler();
    const check = async (crew: string) => {
      write("viv.toml", `[handlers.t]\nhandler = "./h.sh"\n${crew}`);
      const { status, stdout } = await cli(["config", "check"], around());
      expect(status).toBe(0);
      return stdout.match(/viv\.toml:\d+: .*/g);
    };
    expect(
      await check('[crew]\ngrase = "1s"\n[crew.moss]\ndef = "m.org"\ninterval = "5d"\n'),
    ).toEqual([
      'viv.toml:4: unknown key "grase" in [crew]; did you mean grace?',
      expect.stringMatching(/^viv\.toml:7: moss is parked: interval "5d"/),
    ]);
    expect(await check('[crew]\nmanifest = "crew.org"\n')).toEqual([
      "viv.toml:3: [crew] has no member, so that viv up runs no crew; write [crew.NAME] with a def",
      expect.stringMatching(/^viv\.toml:4: unknown key "manifest" in \[crew\]/),
    ]);
    expect(await check('[crew.moss]\ndef = "m.org"\n')).toBeNull();
  });

  it("checks another file by its name, and an agents.toml as one", async () => {
    handler();
    write("other.toml", '[handlers.t]\nhandler = "./h.sh"\n');
    expect(await ok(["config", "check", "other.toml"], around())).toMatch(/^valid .*other\.toml$/m);
    write("agents.toml", "[service]\npti = 1\n");
    const { status, stdout } = await cli(["config", "check", "agents.toml"], around());
    expect(status).toBe(1);
    expect(stdout).toContain('unknown key "pti" in [service]; did you mean "pit"?');
  });

  it("says what is missing: the file, or a file that is TOML", async () => {
    expect(await cli(["config", "check"], around())).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("viv init --template"),
    });
    expect((await cli(["config", "check", "gone.toml"], around())).status).toBe(2);
    write("viv.toml", "run = [\n");
    const { status, stdout } = await cli(["config", "check"], around());
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: expect.stringMatching(/viv\.toml:\d+: /),
    });
  });
});

describe("viv config show", () => {
  const text = [
    'run = "run"',
    "[handlers.fix]",
    'engine = "claude"',
    'prompt = "p.md"',
    'env = ["KEY=hush", "NAME"]',
    "[engines.claude]",
    'binary = "/opt/claude"',
    'flags = ["--header", "x"]',
    "[crew.moss]",
    'def = "moss.org"',
    "[warden]",
    'webhook = "https://hooks.example/T0/hush"',
    'hook = "curl https://me:hush@example.org/?token=hush"',
  ].join("\n");

  it("tells each value and its line, with what a route inherits and the defaults", async () => {
    write("viv.toml", text);
    const { settings } = await json<{ settings: { key: string; from: string; value: unknown }[] }>(
      ["config", "show"],
      around({ VIV_RUN: "elsewhere" }),
    );
    const from = (key: string) => settings.find((one) => one.key === key);
    expect(from("run")).toEqual({ key: "run", value: join(home, "elsewhere"), from: "VIV_RUN" });
    const file = join(home, "viv.toml");
    expect(from("handlers.fix.engine")).toMatchObject({ value: "claude", from: `${file}:3` });
    expect(from("handlers.fix.binary")).toMatchObject({ value: "/opt/claude", from: `${file}:7` });
    expect(from("handlers.fix.mode")).toMatchObject({ value: "edit", from: "default" });
    expect(from("crew.moss.def")).toMatchObject({ value: "moss.org", from: `${file}:10` });
    expect(from("VIV_STATE")).toMatchObject({ from: "environment" });
    expect(settings.filter(({ key }) => key === "run")).toHaveLength(1);
  });

  it("hides what could be a secret", async () => {
    write("viv.toml", text);
    const said = await ok(["config", "show"], around());
    expect(said).not.toContain("hush");
    expect(said).toContain("KEY=(hidden)");
    expect(said).toContain("NAME");
  });

  it("shows the part that is asked for, and a flag before the file", async () => {
    write("viv.toml", text);
    expect(await ok(["config", "show", "crew"], around())).toMatch(/^crew\.moss\.def +moss\.org/);
    const run = await ok(["config", "show", "run", "--run", "/x"], around());
    expect(run).toMatch(/^run +\/x +--run\n$/);
    for (const [key, hint] of [
      ["limits.reviw", "did you mean limits.review?"],
      ["nope", "see: viv config show"],
    ] as const) {
      const { status, stderr } = await cli(["config", "show", key], around());
      expect([status, stderr]).toEqual([2, `viv: there is no setting "${key}"; ${hint}\n`]);
    }
    expect(await ok(["config", "show", "notify"], around())).toBe("nothing is set here\n");
    mkdirSync(join(home, "sub/.git"), { recursive: true });
    const empty = { ...around(), cwd: join(home, "sub"), env: {} };
    expect(await ok(["config", "show"], empty)).toBe("nothing is set here\n");
  });
});

it("the package has the schema of what is read", () => {
  const shipped = JSON.parse(readFileSync(join(DIST, "viv.schema.json"), "utf8"));
  expect(shipped).toEqual(JSON.parse(JSON.stringify(configSchema())));
  const root = join(import.meta.dirname, "../..");
  const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ files }] = JSON.parse(packed) as [{ files: { path: string }[] }];
  expect(files.map(({ path }) => path)).toContain("dist/viv.schema.json");
});

describe("a viv.toml with mistakes", () => {
  const BROKEN = ['run = "night" # ours\n[workers\n', "'run' = './night'\nuds = 1\n"];
  const SHOWN = [
    ["ls"],
    ["show", "a"],
    ["why", "a"],
    ["status"],
    ["report"],
    ["costs"],
    ["tree"],
    ["doctor"],
    ["logs", "a"],
    ["top", "--once"],
    ["ledger", "tail"],
    ["ledger", "verify"],
    ["ls", "--run", "night"],
  ];

  beforeEach(async () => {
    await ok(["init", "night"], around());
    await ok(["enqueue", "--id", "a", "--type", "t", "--run", "night"], around());
    write("night/artifacts/a.log", "said\n");
  });

  it.each(BROKEN)("hides nothing that is in the run, and is named: %j", async (text) => {
    write("viv.toml", text);
    for (const argv of SHOWN) {
      const { status, stdout, stderr } = await cli(argv, around());
      expect({ argv, status }).toEqual({ argv, status: 0 });
      expect(stdout, argv.join(" ")).toMatch(/\S/);
      const warning = `viv: warning: ${join(home, "viv.toml")} has mistakes and does not count here; see: viv config check\n`;
      expect(stderr, argv.join(" ")).toBe(warning);
    }
  });

  it("hides no run that another file names, or that the folder is", async () => {
    write("viv.toml", "foo = \n[budget]\nrun = { usd = 5 }\n");
    for (const at of [around(), { ...around(), cwd: join(home, "night") }]) {
      const { status, stdout } = await cli(["ls"], at);
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/\ba\b/) });
    }
    write("night/viv.toml", "foo = \n");
    const inside = { ...around(), cwd: join(home, "night") };
    expect((await cli(["ls"], inside)).stdout).toMatch(/\ba\b/);
  });

  it("is obeyed by no command that changes something, or that is about the file", async () => {
    const before = await ok(["ls", "--json", "--run", "night"], around());
    write("viv.toml", BROKEN[0] ?? "");
    for (const argv of [
      ["enqueue", "--type", "t"],
      ["cancel", "a"],
      ["claim", "--worker", "w"],
      ["doctor", "--fix"],
      ["schedule", "ls"],
      ["work", "--drain"],
    ]) {
      const { status, stderr } = await cli(argv, around());
      expect({ argv, status }).toEqual({ argv, status: 2 });
      expect(stderr).toMatch(/viv\.toml:\d/);
    }
    expect((await cli(["ls", "--json"], around())).stdout).toBe(before);
  });

  it.each([
    ["a run that is none", 'run = "other"\nx =\n'],
    ["a run named in a table", '[a]\nrun = "night"\nx =\n'],
    ["two names in one line", 'run = "night" run = "b"\n'],
    ["a name with escapes", 'run = "ni\\u0067ht"\nx =\n'],
  ])("shows its mistake where it does not say which run: %s", async (_, text) => {
    write("viv.toml", text);
    const { status, stderr } = await cli(["ls"], around());
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(/viv\.toml:\d/),
    });
  });
});
