import { describe, expect, it } from "vitest";
import { isVivError } from "../base/errors.ts";
import { parseAgents } from "./agents.ts";

const FILE = "/farm/agents.toml";
const parse = (text: string) => parseAgents(text, FILE);

/** `line: message` of each mistake. */
async function mistakesIn(text: string): Promise<string[]> {
  try {
    await parse(text);
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    return error.message.split("\n").map((line) => line.replace(`${FILE}:`, ""));
  }
  return [];
}

const SERVICE = '[service]\npit = "./pit"\n';

describe("a whole species", () => {
  const text = `${SERVICE}
[agents.keeper]
every = "5m"
run = "./keeper.sh"
handler = "./keeper.sh"
[agents.planner]
handler = "planner"
[agents.snake-1]
[agents.snake-12]
handler = "/opt/snake"
[agents.cleanup]
every = "1m"
abandoned_after = "10m"
keep_logs = "2d"
`;

  it("is read, with paths from the file's folder", async () => {
    const config = await parse(text);
    expect(config.pit).toEqual({ path: "/farm/pit", asWritten: "./pit" });
    expect(config.folder).toBe("/farm");
    expect(config.agents).toEqual([
      {
        name: "keeper",
        species: "keeper",
        worker: { takes: ["keeper"], handler: "/farm/keeper.sh" },
        standing: {
          everyMs: 300_000,
          timeoutMs: 900_000,
          does: { kind: "run", argv: ["/farm/keeper.sh"] },
        },
      },
      { name: "planner", species: "planner", worker: { takes: ["planner"], handler: "planner" } },
      { name: "snake-1", species: "snake", worker: { takes: null } },
      { name: "snake-12", species: "snake", worker: { takes: null, handler: "/opt/snake" } },
      {
        name: "cleanup",
        species: "cleanup",
        standing: {
          everyMs: 60_000,
          timeoutMs: 900_000,
          does: { kind: "sweep", abandonedAfterMs: 600_000, keepLogsMs: 172_800_000 },
        },
      },
    ]);
  });

  it("sweeps every minute by default", async () => {
    const { agents } = await parse(`${SERVICE}[agents.cleanup]`);
    expect(agents[0]?.standing).toMatchObject({
      everyMs: 60_000,
      does: { abandonedAfterMs: 1_800_000, keepLogsMs: 604_800_000 },
    });
  });
});

it("takes the species from the name without its number, or from the file", async () => {
  const { agents } = await parse(
    `${SERVICE}[agents.bob]\nspecies = "snake"\n[agents.old-snake-3]\ntakes = ["a", "b"]`,
  );
  expect(agents.map(({ species }) => species)).toEqual(["snake", "old-snake"]);
  expect(agents[1]?.worker?.takes).toEqual(["a", "b"]);
});

it("has no worker when it only runs a command", async () => {
  const { agents } = await parse(
    `${SERVICE}[agents.clock]\nrun = ["python3", "x.py", "a b"]\nevery = "5d"\ntimeout = 30`,
  );
  expect(agents).toEqual([
    {
      name: "clock",
      species: "clock",
      standing: {
        everyMs: 432_000_000,
        timeoutMs: 30_000,
        does: { kind: "run", argv: ["python3", "x.py", "a b"] },
      },
    },
  ]);
});

describe("a mistake has its line and a suggestion", () => {
  it.each<[string, string, string]>([
    ["no service", "[agents.snake-1]", "1: there is no [service]"],
    ["no pit", "[service]\n[agents.snake-1]", "1: [service] needs the path of the pit"],
    [
      "a misspelt pit",
      '[service]\npitt = "x"\n[agents.snake-1]',
      '2: unknown key "pitt" in [service]; did you mean "pit"?',
    ],
    ["no agents", SERVICE, "1: there is no agent; write a table for each agent"],
    [
      "a misspelt agents",
      `${SERVICE}[agent.snake-1]`,
      '3: unknown table "agent"; did you mean "agents"?',
    ],
    [
      "an agent on top",
      `${SERVICE}[agents.snake-1]\n[keeper]`,
      '4: unknown table "keeper"; write [agents.keeper].',
    ],
    [
      "a pit on top",
      `pit = "x"\n${SERVICE}[agents.snake-1]`,
      '1: unknown key "pit"; it belongs in [service].',
    ],
    [
      "a misspelt species",
      `${SERVICE}[agents.snak-1]`,
      '3: "snak" is not a known species; did you mean "snake"?',
    ],
    [
      "a strange species",
      `${SERVICE}[agents.gardener]`,
      '3: "gardener" is not a known species (keeper, planner, snake, cleanup); name the types that it takes',
    ],
    [
      "a misspelt key",
      `${SERVICE}[agents.snake-1]\nhandlr = "x"`,
      '4: unknown key "handlr" in [agents.snake-1]; did you mean "handler"?',
    ],
    [
      "an interval of nothing",
      `${SERVICE}[agents.cleanup]\nevery = 0`,
      "4: every must be more than zero.",
    ],
    [
      "a negative interval",
      `${SERVICE}[agents.cleanup]\nevery = -1`,
      '4: every "-1" is not a duration',
    ],
    [
      "an interval in words",
      `${SERVICE}[agents.cleanup]\nevery = "soon"`,
      '4: every "soon" is not a duration; write it like 90s, 10m, 2h or 1d.',
    ],
    [
      "an interval that would spin",
      `${SERVICE}[agents.cleanup]\nevery = "1ms"`,
      "4: every must be at least 1s.",
    ],
    [
      "an interval for nothing",
      `${SERVICE}[agents.keeper]\nevery = "1m"`,
      "4: every goes only with a command",
    ],
    [
      "a run without interval",
      `${SERVICE}[agents.keeper]\nrun = "./x"`,
      "4: run needs to know how often",
    ],
    [
      "a run with spaces",
      `${SERVICE}[agents.keeper]\nrun = "a b"\nevery = 5`,
      '4: run has a space in it; write a list, one item for each word: ["a", "b"].',
    ],
    ["an empty run", `${SERVICE}[agents.keeper]\nrun = []\nevery = 5`, "4: run is empty"],
    [
      "a handler with spaces",
      `${SERVICE}[agents.snake-1]\nhandler = "a b"`,
      "4: handler has a space in it",
    ],
    [
      "a handler that is a list",
      `${SERVICE}[agents.snake-1]\nhandler = ["a"]`,
      "4: handler must be the path or the name of one program.",
    ],
    [
      "a handler for cleanup",
      `${SERVICE}[agents.cleanup]\nhandler = "a"`,
      '4: unknown key "handler" in [agents.cleanup]; cleanup is built in',
    ],
    [
      "a limit of cleanup elsewhere",
      `${SERVICE}[agents.snake-1]\nkeep_logs = "1d"`,
      '4: unknown key "keep_logs" in [agents.snake-1]; it goes only with the species cleanup.',
    ],
    [
      "a name with a dot",
      `${SERVICE}[agents."a.b"]\ntakes = ["x"]`,
      "3: the name of an agent has no dot",
    ],
    [
      "a dot without quotes",
      `${SERVICE}[agents.snake-1]\n[agents.snake-1.b]`,
      '4: unknown table "b" in [agents.snake-1]; the name of an agent has no dot.',
    ],
    [
      "a name that is none",
      `${SERVICE}[agents."a/b"]\ntakes = ["x"]`,
      '3: worker name "a/b" may contain only letters',
    ],
    [
      "the service's own name",
      `${SERVICE}[agents.service]\ntakes = ["x"]`,
      "3: an agent cannot be called service",
    ],
    [
      "a type that is none",
      `${SERVICE}[agents.x]\ntakes = ["a b"]`,
      '4: task type "a b" may contain only',
    ],
    ["no type", `${SERVICE}[agents.x]\ntakes = []`, "4: takes is empty"],
    [
      "types for a clock",
      `${SERVICE}[agents.x]\nrun = "a"\nevery = 5\ntakes = ["a"]`,
      "6: takes goes only with a worker",
    ],
    ["two of one name", `${SERVICE}[agents.snake-1]\n[agents.snake-1]`, "4:"],
    ["no table", `${SERVICE}[agents]\nsnake-1 = "x"`, '4: "snake-1" is not a table'],
  ])("%s", async (_, text, mistake) => {
    const mistakes = await mistakesIn(text);
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toContain(mistake);
    expect(mistakes[0]?.startsWith(mistake.slice(0, 2))).toBe(true);
  });

  it("and all of them at once", async () => {
    const text = `${SERVICE}[agents.snak]\nhandlr = "x"\n[agents.cleanup]\nevery = 0`;
    expect((await mistakesIn(text)).map((one) => Number.parseInt(one, 10))).toEqual([3, 4, 6]);
  });
});
