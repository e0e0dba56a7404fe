import { expect, test } from "vitest";
import { parseConfig } from "../app/config.ts";
import { isVivError } from "../base/errors.ts";
import { routeFor } from "../work/config-route.ts";
import { budgetSection, pricesSection } from "./costs/config-costs.ts";

const FILE = "/home/pia/audit/viv.toml";

const engineOf = async (...lines: string[]) =>
  routeFor(await parseConfig(["[handlers.default]", ...lines].join("\n"), FILE), "x")?.engine;

async function mistakesIn(...lines: string[]): Promise<string[]> {
  try {
    await parseConfig(lines.join("\n"), FILE);
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    return error.message.split("\n").map((line) => line.slice(FILE.length + 1));
  }
  return [];
}

test("an engine is read whole", async () => {
  const config = await parseConfig(
    `[handlers.implement]
engine = "claude"
prompt = "prompts/implement.md"
tiers = { haiku = "small-1", opus = "large-1" }
escalate_after = 2
mode = "plan"
timeout = "30m"
budget = { usd = 2.00, tokens = 400000, turns = 60 }
task_budget = { usd = 5 }
account = "anthropic-main"
flags = ["--add-dir", "../lib"]
resume = false

[engines.claude]
binary = "/opt/claude"
permission = "acceptEdits"
flags = ["--replaced"]

[prices."small-*"]
input = 1
output = 5.5
cached_read = 0

[budget]
run = { usd = 20 }
day = { usd = 50, tokens = 10000000 }
`,
    FILE,
  );
  expect(routeFor(config, "implement")).toEqual({
    type: "implement",
    handler: [],
    workspace: "none",
    sandbox: [],
    env: [],
    timeoutMs: 1_800_000,
    engine: {
      name: "claude",
      prompt: "prompts/implement.md",
      model: null,
      tiers: [
        { name: "haiku", model: "small-1" },
        { name: "opus", model: "large-1" },
      ],
      escalateAfter: 2,
      mode: "plan",
      budget: { usd: 2, tokens: 400_000, turns: 60 },
      taskBudget: { usd: 5 },
      account: "anthropic-main",
      resume: false,
      settings: {
        binary: "/opt/claude",
        flags: ["--add-dir", "../lib"],
        permission: "acceptEdits",
        url: null,
        api: null,
        keyEnv: null,
        contextTokens: null,
        scenario: null,
      },
    },
  });
  expect(config.section(pricesSection).get("small-*")).toEqual({
    input: 1,
    output: 5.5,
    cachedRead: 0,
  });
  expect(config.section(budgetSection)).toEqual({
    run: { usd: 20 },
    day: { usd: 50, tokens: 10_000_000 },
  });
});

test("a route without an account uses the vendor's", async () => {
  expect(await engineOf('engine = "codex"', 'prompt = "p.md"')).toMatchObject({
    account: "codex",
    mode: "edit",
    resume: true,
  });
  expect(await engineOf('engine = "script"', 'scenario = "s.toml"')).toMatchObject({
    account: null,
    prompt: null,
  });
});

test("every mistake has its line", async () => {
  expect(
    await mistakesIn(
      "[handlers.a]",
      'engine = "cluade"',
      "[handlers.b]",
      'engine = "claude"',
      'handler = "./x.sh"',
      "budget = { usd = -1, token = 5 }",
      "tiers = { small = 3 }",
      "escalate_after = 1",
      "[handlers.c]",
      'handler = "./x.sh"',
      'prompt = "p.md"',
      "[handlers.d]",
      'engine = "llm"',
      'prompt = "p.md"',
      'api = "openai"',
      'key_env = "sk-123"',
      "[engines.gemni]",
      'binary = "x"',
      "[engines.claude]",
      'model = "x"',
      '[prices."m"]',
      "input = -1",
      "[prices.gpt-5.1]",
      "input = 1",
      "output = 1",
      "[budget]",
      "week = { usd = 1 }",
      "day = 5",
    ),
  ).toEqual([
    '2: engine must be "exec", "claude", "codex", "gemini", "opencode", "llm" or "script"; did you mean "claude"?',
    '4: engine = "claude" needs a prompt, like prompt = "prompts/task.md".',
    '5: a route has a handler or an engine; only engine = "exec" takes both.',
    "6: usd must be a number, more than zero.",
    '6: unknown key "token" in [handlers.b.budget]; did you mean "tokens"?',
    "7: small must be the name of a model.",
    "8: escalate_after needs tiers: at least two, the cheaper first.",
    '11: prompt goes only with an engine, like engine = "claude".',
    '13: engine = "llm" needs a model, like model = "…".',
    '13: api = "openai" needs a url, like url = "http://127.0.0.1:11434/v1".',
    "16: key_env must be the name of a variable that holds the key, not the key.",
    '17: there is no engine "gemni"; did you mean "gemini"?',
    '20: unknown key "model" in [engines.claude]; it belongs to a route, like [handlers.default].',
    "21: [prices.m] needs output, in dollars for a million.",
    "22: input must be a number, not less than zero.",
    '23: unknown table "1" in [prices.gpt-5]; a model with a dot in its name needs quotes.',
    '27: unknown table "week" in [budget].',
    "28: day must be a table like { usd = …, tokens = … }.",
  ]);
});
