import type { CatalogEntry } from "../operation/catalog.ts";
import type { Command } from "../operation/command.ts";
import { CATALOG } from "./catalog.ts";

/** Operations that HTTP does not answer, with the reason. All others of the catalogue it does. */
export const NOT_OVER_HTTP: Readonly<Record<string, string>> = {
  init: "a server serves a run that is there",
  "pit init": "a server serves a run that is there",
  "board init": "it makes files in a repository of your choice",
  up: "it runs until it is stopped",
  down: "it would end the server that answers",
  work: "it runs until it is stopped",
  "crew up": "it runs until it is stopped",
  "keeper up": "it runs until it is stopped",
  "warden up": "it runs until it is stopped",
  serve: "this is one",
  token: "a secret is not read with the secret",
  service: "it installs programs for this user",
  archive: "it takes the run away from its server",
  rm: "it takes the run away from its server",
  export: "it makes files in a folder of your choice",
  alive: "a process answers for itself",
  top: "it draws on a terminal; see cards, fleet and report",
};

/** Operations of other flags of a command, under a name of their own. */
const OTHERS: readonly {
  name: string;
  summary: string;
  of: string;
  flags: Record<string, string>;
}[] = [
  {
    name: "enqueue lines",
    summary: "add many tasks: the body has one task object per line (application/x-ndjson)",
    of: "enqueue",
    flags: { jsonl: "-" },
  },
  {
    name: "fleet status",
    summary: "the agents of an agents.toml",
    of: "status",
    flags: { config: "agents.toml" },
  },
];

/** Operations of the page, which have no commands. */
const PAGE: readonly CatalogEntry[] = [
  ofPage("cards", "windows of the board's columns"),
  ofPage("neighbours", "dependencies, dependents, parent and children of a task"),
  ofPage("graph", "tasks and their dependencies"),
  ofPage("timeline", "attempts by worker, throughput, kills"),
  ofPage("fleet", "workers, crew, gate, parts of viv up, schedules"),
  ofPage("money", "costs by type, model, worker, agent and day; budgets"),
];

function ofPage(name: string, summary: string): CatalogEntry {
  const load = async (): Promise<Command> => {
    const { pageOperations } = await import("../overview/page/operations.ts");
    const op = pageOperations.find((one) => one.name === name);
    if (op === undefined) throw new Error(`the page has no operation ${name}`);
    return { op, examples: [] };
  };
  return { name, summary, group: "looking", load };
}

export function httpOperations(): CatalogEntry[] {
  const offered = CATALOG.commands.filter(({ name }) => !Object.hasOwn(NOT_OVER_HTTP, name));
  const others = OTHERS.map(({ name, summary, of, flags }): CatalogEntry => {
    const entry = CATALOG.commands.find((one) => one.name === of);
    if (entry === undefined) throw new Error(`there is no command ${of}`);
    const load = async (): Promise<Command> => {
      const command = await (await entry.load()).instead?.(flags);
      if (command === undefined) throw new Error(`viv ${of} has no other form`);
      return command;
    };
    return { name, summary, group: entry.group, load };
  });
  return [...offered, ...others, ...PAGE];
}
