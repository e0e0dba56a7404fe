import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "smol-toml";
import * as z from "zod/mini";
import { isVivError } from "../../base/errors.ts";
import type { Config } from "../../base/section.ts";
import { lineOf, placesOf } from "../../base/toml-lines.ts";
import { crewFromTable } from "../../crew/manifest.ts";
import { enginesSection } from "../../engines/config-engine.ts";
import { forgeSection } from "../../merge/forge/config.ts";
import { routeProblems } from "../../work/check-routes.ts";
import { routesSection } from "../../work/config-route.ts";
import type { RouteHost } from "../../work/host.ts";
import { parseConfig } from "../config.ts";
import { partProblems } from "./part-problems.ts";

/** Something to change, with its place. */
export const finding = z.object({
  /**
   * A mistake: no command works with the file. A warning: it is read, but a worker would not start, or a
   * part of it is of no use.
   */
  severity: z.enum(["mistake", "warning"]),
  /** Null: of the whole file. */
  line: z.nullable(z.number()),
  message: z.string(),
});
export type Finding = z.output<typeof finding>;

export interface CheckedConfig {
  findings: Finding[];
  /** The types that have a route. */
  routes?: ReadonlySet<string>;
}

/** Everything that can be said about a viv.toml without a run. */
export async function checkConfig(
  text: string,
  file: string,
  host: RouteHost,
): Promise<CheckedConfig> {
  const lines = new Map<string, number>();
  try {
    const config = await parseConfig(text, file, (read) => {
      lines.set(read.path.join("."), read.line);
    });
    const routes = new Set(config.section(routesSection).keys());
    return { findings: await warningsOf(config, lines, host), routes };
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    return { findings: mistakesIn(error.message, file) };
  }
}

/** The lines of a refusal, `file:line: message` each. */
export function mistakesIn(message: string, file: string): Finding[] {
  // Two sections may read one table, and say the same of it.
  return [...new Set(message.split("\n"))].map((text) => ({
    severity: "mistake",
    ...placed(text, file),
  }));
}

function placed(text: string, file: string): Pick<Finding, "line" | "message"> {
  const [, line, rest] = /^:(\d+)(?::\d+)?: (.*)$/s.exec(text.replace(file, "")) ?? [];
  if (line === undefined) return { line: null, message: text };
  return { line: Number(line), message: rest ?? "" };
}

async function warningsOf(
  config: Config,
  lines: ReadonlyMap<string, number>,
  host: RouteHost,
): Promise<Finding[]> {
  const routes = config.section(routesSection);
  const at = (path: string, message: string) => warning(message, lines.get(path));
  const found: Finding[] = [];
  for (const [type, route] of routes) {
    for (const problem of await routeProblems(route, config, host)) {
      found.push(at(`handlers.${type}`, `[handlers.${type}]: ${problem}`));
    }
  }
  found.push(...crewWarnings(config));
  const used = new Set([...routes.values()].map(({ engine }) => engine?.name));
  for (const name of config.section(enginesSection).keys()) {
    if (!used.has(name)) {
      found.push(
        at(
          `engines.${name}`,
          `no route has engine = "${name}", so that [engines.${name}] is of no use`,
        ),
      );
    }
  }
  const { body } = config.section(forgeSection);
  if (body !== undefined && !existsSync(resolve(config.folder, body))) {
    const message = `the template of pull requests ${body} does not exist; viv pr would be held`;
    found.push(at("merge.body", message));
  }
  for (const { path, message } of await partProblems(config, host)) found.push(at(path, message));
  if (routes.size === 0) {
    found.push(
      warning("there is no route; write [handlers.default], or start viv work with --handler"),
    );
  }
  return found.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

/** A crew drops or parks what is wrong in it, and says so in its log: of a crew that never starts there is none. */
function crewWarnings({ text, file }: Config): Finding[] {
  const { crew } = parse(text);
  if (crew === undefined) return [];
  const places = placesOf(text);
  const { members, log } = crewFromTable(crew, { file, places });
  const found = log.map((entry) => {
    const { line, message } = placed(entry, file);
    return warning(message, line);
  });
  if (members.length > 0) return found;
  const none = "[crew] has no member, so that viv up runs no crew; write [crew.NAME] with a def";
  return [...found, warning(none, lineOf(places, ["crew"]))];
}

export function warning(message: string, line: number | null = null): Finding {
  return { severity: "warning", line, message };
}
