import { resolve } from "node:path";
import { isVivError, VivError } from "../base/errors.ts";
import type { Config } from "../base/section.ts";
import type { EngineRoute } from "../engines/config-engine.ts";
import { whatIsMissing } from "../engines/costs/budget.ts";
import { budgetSection, pricesSection } from "../engines/costs/config-costs.ts";
import { keyVariable } from "../engines/named.ts";
import { parseTemplate } from "../engines/template.ts";
import { resolveHandler } from "./attempt.ts";
import { needsAnything } from "./config-needs.ts";
import type { Route } from "./config-route.ts";
import type { RouteHost } from "./host.ts";

/** Throws before the first task is taken: all problems of these routes in one INVALID. */
export async function checkRoutes(
  routes: readonly Route[],
  config: Config,
  host: RouteHost,
): Promise<void> {
  const found = await Promise.all(routes.map((route) => routeProblems(route, config, host)));
  const problems = routes.flatMap(({ type }, i) =>
    (found[i] ?? []).map((problem) => `[handlers.${type}]: ${problem}`),
  );
  if (problems.length > 0) throw new VivError("INVALID", problems.join("\n"), { problems });
}

/**
 * Mistakes that would fail every task of a route, all night: a handler that is missing or not executable,
 * a folder without git, a repository without commits, a base that it does not have, a sandbox that
 * cannot be made, a template that cannot be read, an engine that is not installed, a budget that could
 * not be held.
 */
export async function routeProblems(
  route: Route,
  config: Config,
  host: RouteHost,
): Promise<string[]> {
  const { engine, workspace, repository = ".", base } = route;
  const problems = [
    route.sandbox.length > 0 ? await host.whyNoSandbox() : null,
    handlerProblem(route, config.folder, host),
    workspace === "worktree"
      ? ((await host.whyNoWorktree(resolve(config.folder, repository), base)) ??
        (needsAnything(route)
          ? await host.whyNotReady(route, resolve(config.folder, repository), base)
          : null))
      : null,
    ...(engine ? await engineProblems(route, engine, config, host) : []),
  ];
  return problems.filter((problem) => problem !== null);
}

function handlerProblem({ handler, env, engine }: Route, folder: string, host: RouteHost) {
  const [program] = resolveHandler(handler, folder);
  // Of an engine's program the engine's check tells.
  if (program === undefined || engine) return program ? host.whyNotRun(program) : null;
  const isPath = program.includes("/");
  // A route with a PATH of its own finds its programs elsewhere.
  if (!isPath && env.some((entry) => entry.startsWith("PATH="))) return null;
  const problem = host.whyNotInstalled(program);
  if (problem === null || !/^there is no|is not executable/.test(problem)) return problem;
  const remedy = /not executable/.test(problem) ? `run: chmod +x ${program}` : "correct handler";
  return `${problem.replace(/;.*/, "")}; ${remedy}`;
}

async function engineProblems(
  { handler, sandbox }: Route,
  route: EngineRoute,
  config: Config,
  host: RouteHost,
): Promise<(string | null)[]> {
  const { folder } = config;
  const { name, prompt, mode, settings } = route;
  const { scenario, keyEnv, url } = settings;
  const isExec = name === "exec";
  const engine = await host.engine(name);
  const models = route.tiers.length > 0 ? route.tiers.map(({ model }) => model) : [route.model];
  const limits = {
    attempt: route.budget,
    task: route.taskBudget,
    ...config.section(budgetSection),
  };
  const isLimited = Object.values(limits).some((limit) => limit.usd ?? limit.tokens);
  const program = isExec ? (handler[0] ?? "") : settings.binary;
  const binary = program?.includes("/") ? resolve(folder, program) : program;
  const key = keyVariable(settings);
  const request = {
    ...{ prompt: "x", cwd: "/", model: models[0] ?? null, mode, resume: null },
    ...{ turns: route.budget.turns ?? null, isConfined: sandbox.length > 0 },
    settings: isExec ? { ...settings, binary } : settings,
  };
  // A server of one's own needs no key unless the route names one.
  const needsKey = name === "llm" && (keyEnv !== null || url === null);
  // The model is on another machine; even a server on this one is out of reach in the sandbox.
  const isCutOff = sandbox.includes("no-network") && !isExec && name !== "script";
  return [
    readProblem(prompt, folder, (path) => parseTemplate(host.readText(path), path)),
    host.whyNotInstalled(binary ?? engine.binary),
    // A model that only the run can name has a price then, or ends the run at its first answer.
    whatIsMissing(
      limits,
      engine.reportsDollars,
      models.filter((model) => model !== null || !engine.namesModel),
      config.section(pricesSection),
    ),
    isExec && isLimited ? "a budget is set, but the engine exec does not report its usage" : null,
    readProblem(scenario, folder, host.readText),
    needsKey && !host.env[key] ? `${key} is not set where the worker runs` : null,
    // A mode that the engine cannot keep, a flag that it does not take.
    refusal(() => engine.command(request)),
    isCutOff
      ? `${name} cannot reach its model in a sandbox with no-network; take no-network out of the route's sandbox`
      : null,
  ];
}

function readProblem(file: string | null, folder: string, read: (path: string) => unknown) {
  return file === null ? null : refusal(() => read(resolve(folder, file)));
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
