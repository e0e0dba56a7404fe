import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { placesOf } from "../base/toml-lines.ts";
import { settingsFrom } from "./config.ts";
import { crewFromTable, type Manifest, parseManifest } from "./manifest.ts";

const org = (text: string) => parseManifest(text, { file: "crew.org", format: "org" });
const toml = (text: string) => parseManifest(text, { file: "crew.toml", format: "toml" });
const names = (manifest: Manifest) => manifest.members.map(({ name }) => name);

/** A member moss with these lines in its drawer, from line 3 on. */
const moss = (...lines: string[]) =>
  org(["* moss", ":PROPERTIES:", ...lines, ":END:", ""].join("\n"));
const MOSS_OF_TOML = (...lines: string[]) => toml(["[crew.moss]", ...lines].join("\n"));

const NEWSROOM = `#+TITLE: crew
* desk
:PROPERTIES:
:DEF: /data/agents/desk.org
:INTERVAL: 45m
:END:
* moss
:PROPERTIES:
:DEF: /data/agents/researcher.org
:INTERVAL: 15m
:END:
`;

describe("a manifest", () => {
  test("is that of the seed", () => {
    const manifest = org(NEWSROOM);
    expect(manifest.log).toEqual([]);
    expect(manifest.members).toEqual([
      {
        name: "desk",
        index: 0,
        def: "/data/agents/desk.org",
        lifecycle: null,
        intervalMs: 45 * 60_000,
        engine: "claude",
        model: null,
        command: null,
        mode: "plan",
        workdir: null,
        runIf: null,
        budgetUsdDay: null,
        priority: "normal",
        isModeGiven: false,
        isContinuous: false,
        problem: null,
        line: 2,
      },
      expect.objectContaining({ name: "moss", index: 1, intervalMs: 15 * 60_000, line: 7 }),
    ]);
    expect(org(NEWSROOM.replaceAll("\n", "\r\n"))).toEqual(manifest);
  });

  test("needs no interval: an hour", () => {
    expect(moss(":DEF: d.org").members).toMatchObject([{ intervalMs: 3_600_000, problem: null }]);
  });

  test("is the same in TOML", () => {
    const manifest = toml(`[crew.desk]
def = "/data/agents/desk.org"
interval = "45m"

[crew.moss]
DEF = "/data/agents/researcher.org"
interval = ${15 * 60_000}
`);
    const bare = (m: Manifest) => m.members.map(({ line: _, ...rest }) => rest);
    expect(bare(manifest)).toEqual(bare(org(NEWSROOM)));
    expect(manifest.members.map(({ line }) => line)).toEqual([1, 5]);
    expect(manifest.log).toEqual([]);
  });

  const ALL = {
    def: "d.md",
    lifecycle: "l.org",
    intervalMs: 90_000,
    engine: "exec",
    model: "m",
    command: "cat; true",
    mode: "edit",
    workdir: "..",
    runIf: "test -s inbox",
    budgetUsdDay: 2.5,
    priority: "high",
    isContinuous: true,
    problem: null,
  };

  test("knows all properties, in any case", () => {
    const manifest = moss(
      ...[":def: d.md", ":Lifecycle: l.org", ":INTERVAL: 90s", ":engine: exec", ":MODEL: m"],
      ...[":COMMAND: cat; true", ":MODE: Edit", ":workdir: ..", ":RUN_IF: test -s inbox"],
      ...[":BUDGET-USD-DAY: 2.50", ":PRIORITY: HIGH", ":CONTINUOUS: t", ":CUSTOM_ID: x"],
    );
    expect(manifest.log).toEqual([]);
    expect(manifest.members).toEqual([expect.objectContaining(ALL)]);
  });

  test("knows them in TOML too", () => {
    const manifest = MOSS_OF_TOML(
      ...['def = "d.md"', 'lifecycle = "l.org"', 'interval = "90s"', 'model = "m"'],
      ...['command = "cat; true"', 'mode = "edit"', 'workdir = ".."', 'run-if = "test -s inbox"'],
      ...["budget_usd_day = 2.5", 'priority = "high"', "continuous = true"],
    );
    expect(manifest.log).toEqual([]);
    expect(manifest.members).toEqual([expect.objectContaining(ALL)]);
  });

  test("has members only at its top, called without state and tags", () => {
    const text =
      "* TODO moss :night:\n:PROPERTIES:\n:DEF: d\n:END:\n** wren\n:PROPERTIES:\n:DEF: d\n:END:\n";
    expect(org(text)).toMatchObject({ members: [{ name: "moss" }], log: [] });
  });

  test("gives places only to valid members, in the file's order", () => {
    const drawer = (def: string) => `\n:PROPERTIES:\n${def}\n:END:\n`;
    const { members } = org(`* a${drawer(":X: 1")}* b${drawer(":DEF: d")}* 1${drawer(":DEF: d")}`);
    expect(members.map(({ name, index }) => [name, index])).toEqual([
      ["b", 0],
      ["1", 1],
    ]);
    expect(names(toml('[crew.b]\ndef = "d"\n[crew.1]\ndef = "d"\n'))).toEqual(["b", "1"]);
  });
});

describe("dropped members are logged with a line", () => {
  test.each([
    ["no def", "* moss\n", "crew.org:1: moss has no def and is dropped"],
    ["an empty def", "* moss\n:PROPERTIES:\n:DEF:\n:END:", "crew.org:1: moss has no def"],
    ["a drawer without end", "* moss\n:PROPERTIES:\n:DEF: d\n", "crew.org:1: moss has no def"],
    ["a bad name", "* ../moss\n", 'crew.org:1: the name "../moss" must not begin with a dot; this'],
    ["a dash", "* -rf\n", 'the name "-rf" must not begin with a dash'],
    ["a name of two words", "* my moss\n", 'the name "my moss" may contain only letters'],
    ["no name", "* \n", 'the name "" is empty'],
  ])("%s", (_, text, line) => {
    const manifest = org(text);
    expect(manifest.members).toEqual([]);
    expect(manifest.log).toEqual([expect.stringContaining(line)]);
  });

  test("the second of a name", () => {
    const one = (def: string) => `* moss\n:PROPERTIES:\n:DEF: ${def}\n:END:\n`;
    const manifest = org(one("first") + one("second"));
    expect(manifest.members).toEqual([expect.objectContaining({ def: "first" })]);
    expect(manifest.log).toEqual([
      "crew.org:5: a second member moss is dropped: there is one on line 1 already.",
    ]);
    // One without a def never was a member.
    expect(org(`* moss\n${one("only")}`).members).toMatchObject([{ def: "only", line: 2 }]);
  });
});

describe("a mistake that parks a member", () => {
  test.each([
    [":INTERVAL: 0", ':INTERVAL: "0" must be like 90s, 10m, 2h or a number of milliseconds'],
    [":INTERVAL: 5d", ':INTERVAL: "5d" must be'],
    [":INTERVAL: -1", ':INTERVAL: "-1" must be'],
    [":MODE: edti", ':MODE: "edti" must be one of plan edit; did you mean edit?'],
    [":PRIORITY: urgent", ':PRIORITY: "urgent" must be one of high normal low'],
    [
      ":ENGINE: cluade",
      "must be one of exec claude codex gemini opencode llm script; did you mean claude?",
    ],
    [":ENGINE: exec", "the engine exec needs a COMMAND"],
    [":BUDGET-USD-DAY: 0", "must be a number of dollars, more than zero"],
    [":BUDGET-USD-DAY: a lot", "must be a number of dollars"],
    [":CONTINUOUS: maybe", ':CONTINUOUS: "maybe" must be yes or no'],
    [":WORKDIR: a\0b", "must be a text"],
  ])("%j", (line, problem) => {
    const { members, log } = moss(":DEF: d", line);
    expect(members).toHaveLength(1);
    expect(members[0]?.problem).toContain(problem);
    const stop = problem.endsWith("?") ? "" : ".";
    expect(log).toEqual([`crew.org:4: moss is parked: ${members[0]?.problem}${stop}`]);
  });

  test.each([
    ["interval = -1"],
    ["interval = 1.5"],
    ["interval = true"],
    ["mode = 3"],
    ["model = [1]"],
    ["continuous = 2"],
    ["run_if = 2026-11-15"],
    ["def = {}"],
  ])("in TOML: %s", (line) => {
    const { members, log } = MOSS_OF_TOML(...(line.startsWith("def") ? [] : ['def = "d"']), line);
    expect(members[0]?.problem).toContain(line.split(" ")[0]);
    expect(log).toEqual([expect.stringMatching(/^crew\.toml:[23]: moss is parked: /)]);
  });

  test("all mistakes are listed", () => {
    const { members, log } = moss(":INTERVAL: 0", ":DEF: d", ":MODE: x");
    expect(members[0]?.problem?.split("; ")).toHaveLength(2);
    expect(log.map((line) => line.slice(0, 11))).toEqual(["crew.org:3:", "crew.org:5:"]);
  });
});

describe("an oddity", () => {
  test.each([
    [":INTERVLA: 5m", 'moss: unknown property "INTERVLA"; did you mean INTERVAL?'],
    [":COLOUR: red", 'moss: unknown property "COLOUR"; there are DEF INTERVAL'],
    [":def: e", "moss: a second :def: is ignored."],
    [":MODE:edit", "moss: this is not a property; write it like :DEF: file."],
  ])("%s", (line, message) => {
    const { members, log } = moss(":DEF: d", line);
    expect(members).toMatchObject([{ def: "d", intervalMs: 3_600_000, problem: null }]);
    expect(log).toEqual([expect.stringContaining(`crew.org:4: ${message}`)]);
  });

  test("is logged by line", () => {
    const one = (name: string, line: string) =>
      `* ${name}\n:PROPERTIES:\n:DEF: d\n${line}\n:END:\n`;
    const { log } = org(one("a", ":MODLE: x") + one("b", "stray"));
    expect(log.map((line) => line.split(" ")[0])).toEqual(["crew.org:4:", "crew.org:9:"]);
  });

  test("a command that its engine does not use", () => {
    const { members, log } = moss(":DEF: d", ":ENGINE: codex", ":COMMAND: x");
    expect(members).toMatchObject([{ engine: "codex", problem: null }]);
    expect(log).toEqual([
      "crew.org:5: moss: COMMAND is for the engine exec, and codex does not use it.",
    ]);
  });
});

describe("a [crew] of viv.toml", () => {
  const read = (text: string) => toml(`run = "x"\n${text}`);

  test("has settings beside its members", () => {
    const origins = ["https://news.example"];
    const values = {
      stagger: "100ms",
      grace: 0,
      "Max-Concurrent": 3,
      state: "s",
      port: 0,
      origins,
    };
    const crew = { ...values, moss: { def: "d" } };
    const manifest = crewFromTable(crew, { file: "viv.toml", places: placesOf("") });
    expect(manifest).toMatchObject({ members: [{ name: "moss", def: "d" }], log: [] });
    expect(settingsFrom(new Map(Object.entries(values)), () => {})).toEqual({
      ...{ staggerMs: 100, graceMs: 0, maxConcurrent: 3, state: "s", port: 0, origins },
    });
  });

  test.each([
    ["[crew]\nstagger = 30", 'viv: stagger must be a duration with its unit, like "30s"'],
    ['[crew]\ngrace = "soon"', "grace must be a duration"],
    ["[crew]\nmax_concurrent = 0", "max_concurrent must be a whole number, at least 1"],
    ["[crew]\nport = 70000", "port must be a port"],
    ['[crew]\nstate = ""', "state must be the path of a directory"],
    [
      '[crew]\norigins = ["*"]',
      "origins must be a list, each an origin, like https://news.example",
    ],
    ["[crew]\nstager = 1", 'unknown key "stager" in [crew]; did you mean stagger?'],
    ["[crew]\nmoss = 1", 'unknown key "moss" in [crew]; a member is a table, like [crew.moss].'],
  ])("%j is logged, and the default counts", (text, message) => {
    expect(read(text).log).toEqual([
      expect.stringContaining('crew.toml:1: unknown key "run"'),
      expect.stringContaining(`crew.toml:3: ${message.replace("viv: ", "")}`),
    ]);
    const [, key = "", value = ""] = /(\w+) = (.*)$/.exec(text) ?? [];
    expect(settingsFrom(new Map([[key, JSON.parse(value)]]), () => {})).toEqual({});
  });

  test.each(["crew = 1", "crew = [1]"])("%s is none", (text) => {
    expect(toml(text)).toMatchObject({
      members: [],
      log: [expect.stringContaining("crew must be a table")],
    });
  });
});

test("an unreadable manifest is refused, with its line", () => {
  expect(() => toml("[crew\n")).toThrow(/^crew\.toml:1:\d+: /);
  expect(() => org("* a\n<<<<<<< HEAD\n")).toThrow("crew.org:2: there is a conflict marker");
});

test("any text is a manifest or refused, and every member has a def or a problem", () => {
  const line = fc.constantFrom(
    ...[
      "* a",
      "* b",
      "* a",
      ":PROPERTIES:",
      ":END:",
      ":DEF: x",
      ":DEF:",
      ":INTERVAL: 5",
      ":MODE: x",
    ],
    ...[
      ":__proto__: 1",
      "* __proto__",
      "* constructor",
      ":ENGINE: exec",
      ":COMMAND: c",
      "<<<<<<< x",
    ],
  );
  holds(
    fc.property(fc.oneof(fc.array(line), fc.array(fc.string())), (lines) => {
      let manifest: Manifest;
      try {
        manifest = org(lines.join("\n"));
      } catch (error) {
        expect(error).toMatchObject({ code: "INVALID" });
        return;
      }
      expect(new Set(names(manifest)).size).toBe(manifest.members.length);
      manifest.members.forEach((member, index) => {
        expect(member.index).toBe(index);
        expect(member.def !== "" || member.problem !== null).toBe(true);
        expect(member.intervalMs).toBeGreaterThan(0);
      });
      for (const line of manifest.log) expect(line).toMatch(/^crew\.org:\d+: .*[.?]$/);
    }),
  );
});
