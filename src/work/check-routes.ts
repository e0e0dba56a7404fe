import { resolve } from "node:path";
import { isVivError, VivError } from "../base/errors.ts";
import type { Config } from "../base/section.ts";
import type { EngineRoute } from "../engines/config-engine.ts";
import { whatIsMissing } from "../engines/costs/budget.ts";
import { budgetSection, pricesSection } from "../engines/costs/config-costs.ts";
import type { Engine } from "../engines/engine.ts";
import { keyVariable } from "../engines/named.ts";
import { parseTemplate } from "../engines/template.ts";
import { resolveHandler } from "./attempt.ts";
import type { Route } from "./config-route.ts";
import type { WorkerHost } from "./host.ts";

/**
 * What can be known before the first task is taken: a sandbox that cannot be made, a template that
 * makes no sense, an engine that is not installed, a budget that could not be held. Each would fail
 * every task of its type, one after the other, all night. All problems are in one INVALID.
 */
export async function checkRoutes(
  routes: readonly Route[],
  config: Config,
  host: WorkerHost,
): Promise<void> {
  const problems: string[] = [];
  for (const route of routes) {
    for (const problem of await problemsOf(route, config, host)) {
      problems.push(`[handlers.${route.type}]: ${problem}`);
    }
  }
  if (problems.length > 0) throw new VivError("INVALID", problems.join("\n"), { problems });
}

async function problemsOf(route: Route, config: Config, host: WorkerHost): Promise<string[]> {
  const problems: (string | null)[] = [];
  if (route.sandbox.length > 0) problems.push(await host.whyNoSandbox());
  const [program = ""] = resolveHandler(route.handler, config.folder);
  problems.push(host.whyNotRun(program));
  const { engine } = route;
  if (engine === undefined) return problems.filter((problem) => problem !== null);
  problems.push(
    templateProblem(engine, config.folder, host),
    ...(await engineProblems(route, engine, config, host)),
  );
  return problems.filter((problem) => problem !== null);
}

function templateProblem({ prompt }: EngineRoute, folder: string, host: WorkerHost): string | null {
  if (prompt === null) return null;
  const path = resolve(folder, prompt);
  return refusal(() => parseTemplate(host.readText(path), path));
}

async function engineProblems(
  route: Route,
  engine: EngineRoute,
  config: Config,
  host: WorkerHost,
): Promise<(string | null)[]> {
  const { folder } = config;
  const budget = config.section(budgetSection);
  const one = await host.engine(engine.name);
  const { reportsDollars, binary, namesModel } = one;
  const models = engine.tiers.length > 0 ? engine.tiers.map(({ model }) => model) : [engine.model];
  const limits = { attempt: engine.budget, task: engine.taskBudget, ...budget };
  const program = engine.name === "exec" ? (route.handler[0] ?? "") : engine.settings.binary;
  const path = program?.includes("/") ? resolve(folder, program) : program;
  const isLimited = Object.values(limits).some((limit) => limit.usd ?? limit.tokens);
  return [
    host.whyNotInstalled(path ?? binary),
    // A model that only the run can name has a price then, or ends the run at its first answer.
    whatIsMissing(
      limits,
      reportsDollars,
      models.filter((model) => model !== null || !namesModel),
      config.section(pricesSection),
    ),
    engine.name === "exec" && isLimited
      ? "a budget is set, but the engine exec does not tell what it uses"
      : null,
    scenarioProblem(engine, folder, host),
    keyProblem(engine, host),
    commandProblem(one, route, engine, models[0] ?? null, path ?? null),
    networkProblem(route, engine),
  ];
}

function scenarioProblem(
  { settings: { scenario } }: EngineRoute,
  folder: string,
  host: WorkerHost,
) {
  if (scenario === null) return null;
  return refusal(() => host.readText(resolve(folder, scenario)));
}

/** A server of one's own needs no key unless the route names one. */
function keyProblem({ name, settings }: EngineRoute, { env }: WorkerHost): string | null {
  if (name !== "llm" || (settings.keyEnv === null && settings.url !== null)) return null;
  const variable = keyVariable(settings);
  return env[variable] ? null : `${variable} is not set where the worker runs`;
}

/** What the engine would not do for anybody: a mode it cannot keep, a flag it does not take. */
function commandProblem(
  engine: Engine,
  { sandbox }: Route,
  { mode, budget, settings, name }: EngineRoute,
  model: string | null,
  binary: string | null,
): string | null {
  const turns = budget.turns ?? null;
  const own = name === "exec" ? { ...settings, binary } : settings;
  const isConfined = sandbox.length > 0;
  const request = { prompt: "x", cwd: "/", model, mode, resume: null, turns, isConfined };
  return refusal(() => engine.command({ ...request, settings: own }));
}

/** Its model is somewhere else; a server on this machine is out of reach in there as well. */
function networkProblem({ sandbox }: Route, { name }: EngineRoute): string | null {
  if (!sandbox.includes("no-network") || name === "exec" || name === "script") return null;
  return `${name} cannot reach its model in a sandbox with no-network; take no-network out of the route's sandbox`;
}

function refusal(act: () => unknown): string | null {
  try {
    act();
    return null;
  } catch (error) {
    if (isVivError(error, "INVALID")) return error.message;
    throw error;
  }
}
