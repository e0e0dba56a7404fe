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
import type { WorkerHost } from "./host.ts";

/**
 * Finds mistakes before the first task is taken: a sandbox that cannot be made, a template that cannot be
 * read, an engine that is not installed, a budget that could not be held. Each would fail every task
 * of its type, all night. All problems are in one INVALID.
 */
export async function checkRoutes(
  routes: readonly Route[],
  config: Config,
  host: WorkerHost,
): Promise<void> {
  const problems: string[] = [];
  for (const route of routes) {
    for (const problem of await problemsOf(route, config, host)) {
      if (problem !== null) problems.push(`[handlers.${route.type}]: ${problem}`);
    }
  }
  if (problems.length > 0) throw new VivError("INVALID", problems.join("\n"), { problems });
}

async function problemsOf(
  route: Route,
  config: Config,
  host: WorkerHost,
): Promise<(string | null)[]> {
  const [program = ""] = resolveHandler(route.handler, config.folder);
  const { engine } = route;
  return [
    route.sandbox.length > 0 ? await host.whyNoSandbox() : null,
    host.whyNotRun(program),
    route.workspace === "worktree" && route.repository && needsAnything(route)
      ? await host.whyNotReady(route, resolve(config.folder, route.repository), route.base)
      : null,
    ...(engine ? await engineProblems(route, engine, config, host) : []),
  ];
}

async function engineProblems(
  { handler, sandbox }: Route,
  route: EngineRoute,
  config: Config,
  host: WorkerHost,
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
