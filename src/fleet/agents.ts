import { dirname, resolve } from "node:path";
import { type ConfigTable, nearest, readToml } from "../base/config-table.ts";
import { VivError } from "../base/errors.ts";
import { assertNewName, assertTypeName } from "../base/names.ts";
import { shown } from "../base/text.ts";

/** An agents.toml: the agents around a pit. */
export interface AgentsConfig {
  /** Absolute, as is the folder it lies in. */
  file: string;
  folder: string;
  pit: { path: string; asWritten: string };
  agents: readonly Agent[];
}

/** It works on food, or runs a command at intervals, or both. */
export interface Agent {
  name: string;
  species: string;
  worker?: AgentWorker;
  standing?: AgentStanding;
}

export interface AgentWorker {
  /** The types it takes; null: all that need not be asked for. */
  takes: readonly string[] | null;
  /** A path, or a name in PATH; without it the routes of viv.toml are used. */
  handler?: string;
}

export interface AgentStanding {
  everyMs: number;
  timeoutMs: number;
  does:
    | { kind: "run"; argv: readonly string[] }
    | { kind: "sweep"; abandonedAfterMs: number; keepLogsMs: number };
}

/** The types that a worker of each species takes. */
const SPECIES: ReadonlyMap<string, readonly string[] | null> = new Map([
  ["keeper", ["keeper"]],
  ["planner", ["planner"]],
  ["snake", null],
  ["cleanup", []],
]);

const SHORTEST_MS = 1_000;
const DEFAULT_TIMEOUT_MS = 15 * 60_000;
const SWEEP_EVERY_MS = 60_000;
const ABANDONED_AFTER_MS = 30 * 60_000;
const KEEP_LOGS_MS = 7 * 86_400_000;

/** Reads an agents.toml. All mistakes in it are in one INVALID, one on a line, each with its place. */
export function parseAgents(text: string, file: string): Promise<AgentsConfig> {
  const folder = dirname(file);
  return readToml(text, file, (top) => {
    const pit = readPit(top);
    const agents = readAgents(top, folder);
    top.refuseOthers((key) => {
      if (key === "pit") return "it belongs in [service]";
      return SPECIES.has(speciesOf(key)) ? `write [agents.${key}]` : undefined;
    });
    return { file, folder, pit: { path: resolve(folder, pit), asWritten: pit }, agents };
  });
}

function readPit(top: ConfigTable): string {
  const service = top.table("service");
  if (service === undefined) {
    const what = top.has("service") ? "service must be a table" : "there is no [service]";
    if (!top.isMisspelt("service")) {
      top.note(["service"], `${what}; write [service] and in it pit = "./pit"`);
    }
    return ".";
  }
  if (!service.has("pit") && !service.isMisspelt("pit")) {
    service.note([], '[service] needs the path of the pit, like pit = "./pit"');
  }
  const pit = service.text("pit", "the path of a pit") ?? ".";
  service.refuseOthers();
  return pit;
}

function readAgents(top: ConfigTable, folder: string): Agent[] {
  const example = "a table for each agent, like [agents.snake-1]";
  const agents = top.table("agents");
  const isMissing = !top.has("agents") && !top.isMisspelt("agents");
  if (isMissing || agents?.keys.length === 0) {
    top.note(["agents"], `there is no agent; write ${example}`);
  }
  return top.tables("agents", example).map(([name, table]) => {
    agents?.attempt(name, () => assertAgentName(name));
    return readAgent(name, table, folder);
  });
}

/** It is the name of a worker in a pit, where a dot ends it, and of files beside service.json. */
function assertAgentName(name: string): void {
  assertNewName("worker name", name);
  if (name.includes(".")) {
    throw new VivError("INVALID", `the name of an agent has no dot: ${shown(name)}.`);
  }
  if (name === "service") {
    throw new VivError("INVALID", "an agent cannot be called service: that is viv up itself.");
  }
}

/** `snake-12` is a snake. */
function speciesOf(name: string): string {
  return name.replace(/-\d+$/, "");
}

function readAgent(name: string, table: ConfigTable, folder: string): Agent {
  const species = table.text("species", "the name of a species") ?? speciesOf(name);
  if (species === "cleanup") return { name, species, standing: readSweep(table) };
  const isWorker = !table.has("run") || table.has("handler");
  const takes = readTakes(table, isWorker) ?? SPECIES.get(species);
  const agent = {
    name,
    species,
    standing: readStanding(table, folder),
    worker: { takes: takes ?? null, handler: readHandler(table, folder) },
  };
  if (isWorker && !table.has("takes") && !SPECIES.has(species)) noteUnknown(species, table);
  table.refuseOthers((key) => {
    if (/^(?:abandoned_after|keep_logs)$/.test(key)) return "it goes only with the species cleanup";
    return table.hasTable(key) ? "the name of an agent has no dot" : undefined;
  });
  return isWorker ? agent : { ...agent, worker: undefined };
}

function noteUnknown(species: string, table: ConfigTable): void {
  const known = [...SPECIES.keys()];
  const meant = nearest(species, known);
  const todo = 'name the types that it takes, like takes = ["audit"], or give it run and every';
  const hint = meant === undefined ? ` (${known.join(", ")}); ${todo}` : "";
  const where = table.has("species") ? ["species"] : [];
  table.note(where, `${shown(species)} is not a known species${hint}`, meant);
}

function readSweep(table: ConfigTable): AgentStanding {
  const standing: AgentStanding = {
    everyMs: readEvery(table) ?? SWEEP_EVERY_MS,
    timeoutMs: table.duration("timeout") ?? DEFAULT_TIMEOUT_MS,
    does: {
      kind: "sweep",
      abandonedAfterMs: table.duration("abandoned_after") ?? ABANDONED_AFTER_MS,
      keepLogsMs: table.duration("keep_logs") ?? KEEP_LOGS_MS,
    },
  };
  table.refuseOthers((key) =>
    /^(?:handler|takes|run)$/.test(key)
      ? "cleanup is built in; for a command of your own choose another species"
      : undefined,
  );
  return standing;
}

function readStanding(table: ConfigTable, folder: string): AgentStanding | undefined {
  const everyMs = readEvery(table);
  const timeoutMs = table.duration("timeout") ?? DEFAULT_TIMEOUT_MS;
  const [program = "", ...words] = table.command("run", '["python3", "keeper.py"]') ?? [];
  for (const key of table.has("run") || table.isMisspelt("run") ? [] : ["every", "timeout"]) {
    if (!table.has(key)) continue;
    table.note([key], `${key} goes only with a command, like run = "./${key}.sh"`);
  }
  if (table.has("run") && !table.has("every") && !table.isMisspelt("every")) {
    table.note(["run"], 'run needs to know how often, like every = "5m"');
  }
  const argv = [programAt(program, folder), ...words];
  return everyMs && table.has("run")
    ? { everyMs, timeoutMs, does: { kind: "run", argv } }
    : undefined;
}

function readEvery(table: ConfigTable): number | undefined {
  const ms = table.duration("every");
  if (ms !== undefined && ms < SHORTEST_MS) table.note(["every"], "every must be at least 1s");
  return ms;
}

function readHandler(table: ConfigTable, folder: string): string | undefined {
  const handler = table.text("handler", "the path or the name of one program");
  if (handler === undefined) return undefined;
  const problem = "handler has a space in it; put the words into a script, and name that";
  if (/\s/.test(handler)) table.note(["handler"], problem);
  return programAt(handler, folder);
}

/** A plain name is looked for in PATH. */
function programAt(program: string, folder: string): string {
  return program.includes("/") ? resolve(folder, program) : program;
}

function readTakes(table: ConfigTable, isWorker: boolean): string[] | undefined {
  const takes = table.texts("takes", 'a list of types, like ["audit"]');
  if (takes?.length === 0) table.note(["takes"], "takes is empty; name a type, or leave it out");
  for (const type of takes ?? []) table.attempt("takes", () => assertTypeName(type));
  if (takes !== undefined && !isWorker) {
    table.note(["takes"], "takes goes only with a worker; give it a handler as well");
  }
  return takes;
}
