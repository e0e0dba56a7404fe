import { dirname } from "node:path";
import { belongsOnTop, ConfigTable, type Notes, TOP_KEYS } from "../base/config-table.ts";
import { VivError } from "../base/errors.ts";
import { assertTypeName } from "../base/names.ts";
import { shown } from "../base/shown.ts";
import { placesOf } from "../base/toml-lines.ts";
import {
  type EngineDefaults,
  type Money,
  readBudget,
  readEngineDefaults,
} from "../engines/config-engine.ts";
import { readPrices } from "../engines/costs/config-prices.ts";
import type { PriceTable } from "../engines/costs/prices.ts";
import { readWarden, type WardenConfig } from "../warden/config.ts";
import { ROUTE_KEYS, type Route, readRoute } from "../work/config-route.ts";

export type { Route } from "../work/config-route.ts";

/** What a viv.toml says. Paths are as they are written in it, relative to its folder. */
export interface Config {
  /** Absolute, as is the folder it lies in. */
  file: string;
  folder: string;
  run?: string;
  onDependencyFailed?: "wait" | "fail";
  /** By type; `default` is for every type that has none. */
  routes: ReadonlyMap<string, Route>;
  limits: { review?: number; logBytes?: number };
  /** Of all tasks together: in this run, and in one day (UTC). */
  budget: { run: Money; day: Money };
  /** Dollars for a million tokens, by model. */
  prices: PriceTable;
  /** `[engines.NAME]`: for all runs with that engine. */
  engines: EngineDefaults;
  /** `[crew]`, as it is written: crew-manifest.ts reads it. */
  crew?: Record<string, unknown>;
  warden?: WardenConfig;
}

const TABLES = ["handlers", "limits", "engines", "prices", "budget", "crew", "warden"];
const LIMITS = ["review", "log"];

/** Reads a viv.toml. All mistakes in it are in one INVALID, one on a line, each with its place. */
export async function parseConfig(text: string, file: string): Promise<Config> {
  const values = await parseToml(text, file);
  const notes: Notes = { places: placesOf(text), problems: [] };
  const top = new ConfigTable(values, [], notes);
  top.refuseUnknown([...TABLES, ...TOP_KEYS], (key) =>
    ROUTE_KEYS.includes(key) && !top.hasTable(key)
      ? "it belongs in a table like [handlers.default]"
      : undefined,
  );
  const run = top.text("run", "the path of a directory");
  const onDependencyFailed = top.choice("on_dependency_failed", ["wait", "fail"]);
  const engines = readEngineDefaults(top);
  const crew = top.hasTable("crew") ? (values.crew as Record<string, unknown>) : undefined;
  const warden = readWarden(top);
  const config: Config = {
    file,
    folder: dirname(file),
    ...(run === undefined ? {} : { run }),
    ...(onDependencyFailed === undefined ? {} : { onDependencyFailed }),
    routes: readRoutes(top, engines),
    engines,
    ...(crew === undefined ? {} : { crew }),
    ...(warden === undefined ? {} : { warden }),
    limits: readLimits(top),
    budget: readBudgets(top),
    prices: readPrices(top),
  };
  if (notes.problems.length === 0) return config;
  const problems = notes.problems.sort((a, b) => a.line - b.line);
  const message = problems.map((p) => `${file}:${p.line}: ${p.message}`).join("\n");
  throw new VivError("INVALID", message, { problems });
}

/** The route for tasks of this type: its own, or the default. Without one it is not claimed. */
export function routeFor(config: Config, type: string): Route | undefined {
  return config.routes.get(type) ?? config.routes.get("default");
}

/** The types that have a route; null means any, because there is a default. */
export function typesOf(config: Config): string[] | null {
  return config.routes.has("default") ? null : [...config.routes.keys()];
}

async function parseToml(text: string, file: string): Promise<Record<string, unknown>> {
  // Only here, so that what merely knows a Config does not pay for the parser.
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = `${file}:${error.line}:${error.column}: ${error.message.split("\n")[0]}`;
    throw new VivError("INVALID", message, {}, { cause: error });
  }
}

function readRoutes(top: ConfigTable, engines: EngineDefaults): Map<string, Route> {
  const routes = new Map<string, Route>();
  const example = "a table for each type, like [handlers.default]";
  const handlers = top.table("handlers");
  if (handlers === undefined && top.has("handlers")) {
    top.note(["handlers"], `handlers must hold ${example}`);
  }
  for (const type of handlers?.keys ?? []) {
    const table = handlers?.table(type);
    if (table === undefined) {
      handlers?.note([type], `${shown(type)} is not a table; [handlers] must hold ${example}`);
      continue;
    }
    handlers?.attempt(type, () => assertTypeName(type));
    routes.set(type, readRoute(type, table, engines));
  }
  return routes;
}

function readBudgets(top: ConfigTable): Config["budget"] {
  const budget = top.table("budget");
  if (budget === undefined && top.has("budget")) {
    top.note(["budget"], "budget must be a table: [budget]");
  }
  budget?.refuseUnknown(["run", "day"], () => undefined);
  const read = (key: string) => (budget ? readBudget(budget, key, ["usd", "tokens"]) : {});
  return { run: read("run"), day: read("day") };
}

function readLimits(top: ConfigTable): Config["limits"] {
  const limits = top.table("limits");
  if (limits === undefined) {
    if (top.has("limits")) top.note(["limits"], "limits must be a table: [limits]");
    return {};
  }
  limits.refuseUnknown(LIMITS, belongsOnTop);
  const review = limits.whole("review");
  const logBytes = limits.size("log");
  return {
    ...(review === undefined ? {} : { review }),
    ...(logBytes === undefined ? {} : { logBytes }),
  };
}
