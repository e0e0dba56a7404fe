import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isVivError, type VivError } from "../base/errors.ts";
import type { Config } from "../base/section.ts";
import { enginesSection } from "../engines/config-engine.ts";
import { budgetSection, pricesSection } from "../engines/costs/config-costs.ts";
import { runSection } from "../queue/config-run.ts";
import { wardenSection } from "../warden/config.ts";
import { limitsSection, routeFor, routesSection, typesOf } from "../work/config-route.ts";
import { parseConfig } from "./config.ts";

const FILE = "/home/pia/audit/viv.toml";

/** The values of all sections but the crew's. */
function valuesOf({ file, folder, section }: Config): Record<string, unknown> {
  return {
    file,
    folder,
    ...section(runSection),
    routes: section(routesSection),
    limits: section(limitsSection),
    engines: section(enginesSection),
    budget: section(budgetSection),
    prices: section(pricesSection),
    warden: section(wardenSection),
  };
}

const NO_MONEY = {
  engines: new Map(),
  budget: { run: {}, day: {} },
  prices: new Map(),
};

const WHOLE = `run = "./audit"
on_dependency_failed = "fail"

[handlers.default]          # any type without a table of its own
handler = "./handle.sh"

[handlers.implement]
handler = ["python3", "implement.py", ""]
timeout = "30m"
max_attempts = 3
backoff = "10s"
done_when = "npm test"
done_when_timeout = 600
review = true
workspace = "worktree"
repository = "../app"
base = "main"
sandbox = ["no-network", "write-workspace"]
env = [
  "API_KEY",
  "MODE=fast",
  "EMPTY=",
]

[limits]
review = 5
log = "10MB"
`;

function parse(...lines: string[]): Promise<Config> {
  return parseConfig(lines.join("\n"), FILE);
}

async function refusalOf(text: string): Promise<VivError> {
  try {
    await parseConfig(text, FILE);
  } catch (error) {
    if (isVivError(error, "INVALID")) return error;
    throw error;
  }
  throw new Error(`accepted:\n${text}`);
}

/** The mistakes as `LINE: message`. */
async function mistakesIn(...lines: string[]): Promise<string[]> {
  const { message } = await refusalOf(lines.join("\n"));
  return message.split("\n").map((line) => {
    expect(line.startsWith(`${FILE}:`)).toBe(true);
    return line.slice(FILE.length + 1);
  });
}

describe("a configuration", () => {
  it("is read whole", async () => {
    expect(valuesOf(await parseConfig(WHOLE, FILE))).toEqual({
      ...NO_MONEY,
      file: FILE,
      folder: "/home/pia/audit",
      run: "./audit",
      onDependencyFailed: "fail",
      routes: new Map([
        [
          "default",
          { type: "default", handler: ["./handle.sh"], workspace: "none", sandbox: [], env: [] },
        ],
        [
          "implement",
          {
            type: "implement",
            handler: ["python3", "implement.py", ""],
            timeoutMs: 1_800_000,
            maxAttempts: 3,
            backoffMs: 10_000,
            doneWhen: "npm test",
            doneWhenTimeoutMs: 600_000,
            review: true,
            workspace: "worktree",
            repository: "../app",
            base: "main",
            sandbox: ["write-workspace", "no-network"],
            env: ["API_KEY", "MODE=fast", "EMPTY="],
          },
        ],
      ]),
      limits: { review: 5, logBytes: 10_000_000 },
    });
  });

  it("may be empty", async () => {
    const nothing = {
      ...NO_MONEY,
      file: FILE,
      folder: "/home/pia/audit",
      routes: new Map(),
      limits: {},
    };
    for (const text of ["", "\n# later\n", "[handlers]\n[limits]\n", "\ufeff"]) {
      expect(valuesOf(await parseConfig(text, FILE))).toEqual(nothing);
    }
  });

  it.each([
    ['"off"', []],
    ["[]", []],
    ['"no-network"', ["no-network"]],
    ['["write-workspace", "write-workspace"]', ["write-workspace"]],
  ])("sandbox = %s", async (value, sandbox) => {
    const config = await parse(`[handlers.a]\nhandler = "x"\nsandbox = ${value}`);
    expect(routeFor(config, "a")?.sandbox).toEqual(sandbox);
  });

  it.each([
    ['"512KB"', 512_000],
    ['"1.5 GB"', 1_500_000_000],
    ['"16MiB"', 16 * 2 ** 20],
    ['"2KiB"', 2048],
    ['"7b"', 7],
    ["4096", 4096],
    ["1e6", 1_000_000],
  ])("log = %s", async (value, logBytes) => {
    expect((await parse(`limits.log = ${value}`)).section(limitsSection)).toEqual({ logBytes });
  });

  it("has types that are named like properties of every object", async () => {
    const types = ["__proto__", "constructor", "toString", "hasOwnProperty"];
    const config = await parse(...types.map((type) => `[handlers.${type}]\nhandler = "./${type}"`));
    expect(typesOf(config)).toEqual(types);
    for (const type of types) expect(routeFor(config, type)?.handler).toEqual([`./${type}`]);
    expect(routeFor(config, "valueOf")).toBeUndefined();
    expect(
      await mistakesIn('__proto__ = 1\n[limits]\nconstructor = 1\n[handlers."__proto__"]'),
    ).toEqual([
      '1: unknown key "__proto__".',
      '3: unknown key "constructor" in [limits].',
      '4: [handlers.__proto__] needs a handler, like handler = "./handle.sh", or an engine.',
    ]);
  });
});

describe("routes", () => {
  it("a type has its own route, or the default", async () => {
    const config = await parse('handlers.a.handler = "x"', 'handlers.default.handler = "y"');
    expect(routeFor(config, "a")?.handler).toEqual(["x"]);
    expect(routeFor(config, "b")?.handler).toEqual(["y"]);
    expect(typesOf(config)).toBeNull();
  });

  it("without a default only named types have a route", async () => {
    const config = await parse('handlers.a.handler = "x"', "[handlers.'b:c/d']", 'handler = "z"');
    expect(routeFor(config, "b:c/d")?.type).toBe("b:c/d");
    expect(routeFor(config, "b")).toBeUndefined();
    expect(typesOf(config)).toEqual(["a", "b:c/d"]);
    expect(typesOf(await parse(""))).toEqual([]);
  });
});

/** Mistakes in a table that has a handler in its second line; the third is the one that is wrong. */
const IN_A_ROUTE: [line: string, message: string][] = [
  ['timout = "1m"', 'unknown key "timout" in [handlers.a]; did you mean "timeout"?'],
  ["colour = 1", 'unknown key "colour" in [handlers.a].'],
  ['run = "x"', 'unknown key "run" in [handlers.a]; it belongs above the first table of the file.'],
  ['timeout = "soon"', 'timeout "soon" is not a duration; write it like 90s, 10m, 2h or 1d.'],
  ["timeout = true", 'timeout must be a duration like "90s" or "10m".'],
  ["timeout = 2026-01-01", 'timeout must be a duration like "90s" or "10m".'],
  ["timeout = -5", 'timeout "-5" is not a duration; write it like 90s, 10m, 2h or 1d.'],
  ["timeout = nan", 'timeout "NaN" is not a duration; write it like 90s, 10m, 2h or 1d.'],
  ["timeout = 0", "timeout must be more than zero."],
  ['backoff = "0s"', "backoff must be more than zero."],
  ["done_when_timeout = []", 'done_when_timeout must be a duration like "90s" or "10m".'],
  ["max_attempts = 0", "max_attempts must be a whole number from 1 to 1000."],
  ["max_attempts = 2.5", "max_attempts must be a whole number from 1 to 1000."],
  ["max_attempts = 1001", "max_attempts must be a whole number from 1 to 1000."],
  ['max_attempts = "3"', "max_attempts must be a whole number from 1 to 1000."],
  ['done_when = " "', "done_when must be a command."],
  ["done_when = true", "done_when must be a command."],
  ['done_when = "a\\u0000b"', "done_when must not contain a NUL character."],
  ['review = "yes"', "review must be true or false."],
  ['workspace = "tree"', 'workspace must be "none", "dir" or "worktree".'],
  ['workspace = "non"', 'workspace must be "none", "dir" or "worktree"; did you mean "none"?'],
  ["workspace = 1", 'workspace must be "none", "dir" or "worktree".'],
  ['workspace = "worktree"', 'workspace = "worktree" needs a repository, like repository = ".".'],
  ['repository = "."', 'repository goes only with workspace = "worktree".'],
  ['base = "main"', 'base goes only with workspace = "worktree".'],
  [
    'sandbox = "no-netwrok"',
    'sandbox must be "off", "write-workspace", "no-network" or a list of the last two; did you mean "no-network"?',
  ],
  [
    'sandbox = ["off"]',
    'sandbox must be "off", "write-workspace", "no-network" or a list of the last two.',
  ],
  [
    "sandbox = false",
    'sandbox must be "off", "write-workspace", "no-network" or a list of the last two.',
  ],
  ['env = "A"', 'env must be a list of strings like ["API_KEY", "MODE=fast"].'],
  ["env = [1]", 'env must be a list of strings like ["API_KEY", "MODE=fast"].'],
  ['env = ["1A"]', 'env: "1A" is not the name of a variable.'],
  ['env = ["A B=1"]', 'env: "A B" is not the name of a variable.'],
  ['env = ["=1"]', 'env: "" is not the name of a variable.'],
  ['env = ["A=\\u0000"]', "env must not contain a NUL character."],
  ['env = ["VIV_RUN"]', 'env: "VIV_RUN" is reserved; viv sets VIV_ and SWARM_ itself.'],
  ['env = ["SWARM_X=1"]', 'env: "SWARM_X" is reserved; viv sets VIV_ and SWARM_ itself.'],
  ['env = ["A", "A=1"]', 'env: "A" is there twice.'],
];

describe("a mistake in a route", () => {
  it.each(IN_A_ROUTE)("%s", async (line, message) => {
    expect(await mistakesIn("[handlers.a]", 'handler = "x"', line)).toEqual([`3: ${message}`]);
  });

  it.each([
    ["handler = 5", 'handler must be a string, or a list of them like ["python3", "audit.py"].'],
    [
      'handler = ["x", 5]',
      'handler must be a string, or a list of them like ["python3", "audit.py"].',
    ],
    ['handler = ""', "handler must be the path or the name of a command."],
    ["handler = []", "handler is empty; its first item must be the command to start."],
    ['handler = ["", "x"]', "handler is empty; its first item must be the command to start."],
    [
      'handler = "python3  audit.py"',
      'handler has a space in it; write a list, one item for each word: ["python3", "audit.py"].',
    ],
    [
      "handler = \"sh -c 'a b'\"",
      'handler has a space in it; write a list, one item for each word: ["sh", "-c", "…"].',
    ],
  ])("%s", async (line, message) => {
    expect(await mistakesIn("", "[handlers.a]", line)).toEqual([`3: ${message}`]);
  });

  it("a missing handler is noted at the table", async () => {
    const missing = 'needs a handler, like handler = "./handle.sh", or an engine.';
    expect(await mistakesIn("", "[handlers.a]")).toEqual([`2: [handlers.a] ${missing}`]);
    expect(await mistakesIn("[handlers]", "", "a = {}")).toEqual([`3: [handlers.a] ${missing}`]);
    expect(await mistakesIn('[handlers."a/b"]')).toEqual([`1: [handlers."a/b"] ${missing}`]);
    expect(await mistakesIn("", "handlers.a.review = true", "handlers.a.timeout = 1")).toEqual([
      `2: [handlers.a] ${missing}`,
    ]);
  });

  it("in a list is noted at the item", async () => {
    expect(
      await mistakesIn(
        "[handlers.a]",
        'handler = ["x",',
        "  5]",
        'sandbox = ["no-network",',
        '  "no-net"]',
        "env = [",
        '  "A", "B C",',
        "]",
      ),
    ).toEqual([
      expect.stringMatching(/^3: handler must be /),
      expect.stringMatching(/^5: sandbox must be /),
      expect.stringMatching(/^7: env: "B C"/),
    ]);
  });

  it("one mistake is not two", async () => {
    expect(
      await mistakesIn('[handlers.a]\nhandler = 1\nworkspace = "x"\nrepository = "."'),
    ).toEqual([
      '2: handler must be a string, or a list of them like ["python3", "audit.py"].',
      '3: workspace must be "none", "dir" or "worktree".',
    ]);
    expect(
      await mistakesIn('[handlers.a]\nhandler = "x"\nworkspace = "worktree"\nrepository = 1'),
    ).toEqual(["4: repository must be the path of a git repository."]);
  });

  it("a type must be one, and one with a dot needs quotes", async () => {
    expect(await mistakesIn('[handlers."a b"]', 'handler = "x"')).toEqual([
      '1: task type "a b" may contain only letters, digits and . _ : / @ + -.',
    ]);
    expect(await mistakesIn("[handlers.audit.v2]", 'handler = "x"')).toEqual([
      '1: unknown table "v2" in [handlers.audit]; a type with a dot in it needs quotes: [handlers."audit.v2"].',
    ]);
    expect(typesOf(await parse('[handlers."audit.v2"]', 'handler = "x"'))).toEqual(["audit.v2"]);
  });
});

describe("a mistake elsewhere", () => {
  it.each([
    ["rum = 1", 'unknown key "rum"; did you mean "run"?'],
    ["colour = 1", 'unknown key "colour".'],
    ["[colour]", 'unknown table "colour".'],
    ["[handler.default]", 'unknown table "handler"; did you mean "handlers"?'],
    ["[routes.fix]", 'unknown table "routes"; a route is written as [handlers.TYPE].'],
    ["[[limit]]", 'unknown key "limit"; did you mean "limits"?'],
    ['handler = "x"', 'unknown key "handler"; it belongs in a table like [handlers.default].'],
    ["run = 5", "run must be the path of a directory."],
    ['run = ""', "run must be the path of a directory."],
    ["[run]", "run must be the path of a directory."],
    ["on_dependency_failed = 1", 'on_dependency_failed must be "wait" or "fail".'],
    [
      'on_dependency_failed = "fial"',
      'on_dependency_failed must be "wait" or "fail"; did you mean "fail"?',
    ],
    ["handlers = 1", "handlers must hold a table for each type, like [handlers.default]."],
    ["[[handlers]]", "handlers must hold a table for each type, like [handlers.default]."],
    [
      'handlers.handler = "x"',
      '"handler" is not a table; [handlers] must hold a table for each type, like [handlers.default].',
    ],
    [
      "[[handlers.a]]",
      '"a" is not a table; [handlers] must hold a table for each type, like [handlers.default].',
    ],
    ["limits = 5", "limits must be a table: [limits]."],
    ["limits = 2026-01-01", "limits must be a table: [limits]."],
    ["limits.reviews = 5", 'unknown key "reviews" in [limits]; did you mean "review"?'],
    [
      'limits.run = "x"',
      'unknown key "run" in [limits]; it belongs above the first table of the file.',
    ],
    ["workers.cuont = 3", 'unknown key "cuont" in [workers]; did you mean "count"?'],
    ["limits.review = 0", "review must be a whole number, at least 1."],
    [
      'limits.log = "10 apples"',
      'log "10 apples" is not a size; write it like 512KB, 10MB or 1GB.',
    ],
    ["limits.log = true", 'log must be a size like "10MB", or a number of bytes.'],
    ["limits.log = 0.5", "log must be more than zero."],
  ])("%s", async (line, message) => {
    expect(await mistakesIn("# first", "", line)).toEqual([`3: ${message}`]);
  });

  it("of TOML itself has a column", async () => {
    const error = await refusalOf('# fine\nrun = "x\n');
    expect(error.message).toMatch(new RegExp(`^${FILE}:2:\\d+: \\S`));
    expect(error.message).not.toContain("\n");
    expect(error.cause).toBeInstanceOf(Error);
  });
});

describe("many mistakes", () => {
  it("are one error in the order of their lines, with details for programs", async () => {
    const text = [
      "[limits]",
      "review = 0",
      "",
      "[handlers.b]",
      'done_when = """',
      "timeout = 1 # not a key",
      '"""',
      "timeout = 'x'",
      "[handlers.a]",
      'handler = "./a"',
      "env = [ # several",
      '  "GOOD",',
      '  "BAD NAME",',
      "]",
      "handlr = 1",
    ].join("\n");
    const error = await refusalOf(text);
    expect(error.details).toEqual({
      problems: [
        { line: 2, message: "review must be a whole number, at least 1." },
        {
          line: 4,
          message: '[handlers.b] needs a handler, like handler = "./handle.sh", or an engine.',
        },
        { line: 8, message: expect.stringContaining('timeout "x" is not a duration') },
        { line: 13, message: 'env: "BAD NAME" is not the name of a variable.' },
        {
          line: 15,
          message: 'unknown key "handlr" in [handlers.a]; did you mean "handler"?',
        },
      ],
    });
    const { problems } = error.details as { problems: { line: number; message: string }[] };
    const told = problems.map(({ line, message }) => `${FILE}:${line}: ${message}`);
    expect(error.message).toBe(told.join("\n"));
  });
});

describe("any text", () => {
  const piece = fc.constantFrom(
    ..."[ ] { } = . , # \" ' \"\"\" ''' \\ \n \r\n".split(" "),
    " ",
    ..."run handlers limits default a __proto__ constructor handler timeout env log sandbox".split(
      " ",
    ),
    ..."0 1 -1 inf nan true 1979-05-27 07:32:00 2026-01-01T00:00:00Z".split(" "),
    '"30m"',
    '"\\u0000"',
    "[handlers.a]\n",
    "[[handlers.a]]\n",
    "[limits]\n",
  );
  const fromPieces = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));
  const damaged = fc
    .tuple(fc.nat(WHOLE.length), fc.nat(20), fc.oneof(piece, fc.string()))
    .map(([at, length, put]) => WHOLE.slice(0, at) + put + WHOLE.slice(at + length));
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fromPieces,
    fromPieces.map((pieces) => `${WHOLE}${pieces}`),
    damaged,
  );

  it("is accepted, or refused with line numbers that exist", async () => {
    await fc.assert(
      fc.asyncProperty(text, async (toml) => {
        try {
          await parseConfig(toml, FILE);
        } catch (error) {
          if (!isVivError(error, "INVALID")) throw error;
          const lines = toml.split("\n").length;
          for (const told of error.message.split("\n")) {
            const line = Number(/^\/home\/pia\/audit\/viv\.toml:(\d+):/.exec(told)?.[1]);
            expect(line).toBeGreaterThanOrEqual(1);
            expect(line).toBeLessThanOrEqual(lines);
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("may be deep, long or wide", async () => {
    const deep = `run = ${"[".repeat(900)}${"]".repeat(900)}`;
    expect(await mistakesIn(deep)).toEqual(["1: run must be the path of a directory."]);
    expect(await mistakesIn(`${"a.".repeat(20_000)}a = 1`)).toEqual(['1: unknown table "a".']);
    expect(await mistakesIn(`x = """${"\n".repeat(300_000)}"""`, "y = 1")).toEqual([
      '1: unknown key "x".',
      '300002: unknown key "y".',
    ]);
    const [long] = await mistakesIn(`${"k".repeat(100_000)} = 1`);
    expect(long?.length).toBeLessThan(100);
  });
});
