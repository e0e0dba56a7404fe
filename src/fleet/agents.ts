import { dirname, resolve } from "node:path";
import { ConfigTable, type Notes, nearest } from "../base/config-table.ts";
import { VivError } from "../base/errors.ts";
import { assertName, assertTypeName } from "../base/names.ts";
import { shown } from "../base/shown.ts";
import { placesOf } from "../base/toml-lines.ts";

/** What an agents.toml says: who lives around a pit. */
export interface AgentsConfig {
  /** Absolute, as is the folder it lies in. */
  file: string;
  folder: string;
  pit: { path: string; asWritten: string };
  agents: readonly Agent[];
}

/** It works on food, or runs now and then, or both. */
export interface Agent {
  name: string;
  species: string;
  worker?: AgentWorker;
  standing?: AgentStanding;
}

export interface AgentWorker {
  /** The types it takes; null for all that nobody must ask for. */
  takes: readonly string[] | null;
  /** A path, or a name in PATH; without it the routes of viv.toml count. */
  handler?: string;
}

export interface AgentStanding {
  everyMs: number;
  timeoutMs: number;
  does: { kind: "run"; argv: readonly string[] } | Sweep;
}

export interface Sweep {
  kind: "sweep";
  abandonedAfterMs: number;
  keepLogsMs: number;
}

interface Species {
  /** Of its worker, if it is one. */
  takes: readonly string[] | null;
  isSweeper: boolean;
}

const SPECIES: Readonly<Record<string, Species>> = {
  keeper: { takes: ["keeper"], isSweeper: false },
  planner: { takes: ["planner"], isSweeper: false },
  snake: { takes: null, isSweeper: false },
  cleanup: { takes: [], isSweeper: true },
};

const WORK_KEYS = ["species", "handler", "takes", "run", "every", "timeout"];
const SWEEP_KEYS = ["species", "every", "timeout", "abandoned_after", "keep_logs"];
const AGENT_KEYS = [...new Set([...WORK_KEYS, ...SWEEP_KEYS])];

const SHORTEST_MS = 1_000;
const DEFAULT_TIMEOUT_MS = 15 * 60_000;
const SWEEP_EVERY_MS = 60_000;
const ABANDONED_AFTER_MS = 30 * 60_000;
const KEEP_LOGS_MS = 7 * 86_400_000;

/** Reads an agents.toml. All mistakes in it are in one INVALID, one on a line, each with its place. */
export async function parseAgents(text: string, file: string): Promise<AgentsConfig> {
  const values = await parseToml(text, file);
  const notes: Notes = { places: placesOf(text), problems: [] };
  const top = new ConfigTable(values, [], notes);
  top.refuseUnknown(["service", "agents"], (key) => {
    if (key === "pit") return "it belongs in [service]";
    return isSpecies(speciesOf(key)) ? `write [agents.${key}]` : undefined;
  });
  const folder = dirname(file);
  const pit = readPit(top);
  const agents = readAgents(top, folder);
  const config = { file, folder, pit: { path: resolve(folder, pit), asWritten: pit }, agents };
  if (notes.problems.length === 0) return config;
  const problems = notes.problems.sort((a, b) => a.line - b.line);
  const message = problems.map((p) => `${file}:${p.line}: ${p.message}`).join("\n");
  throw new VivError("INVALID", message, { problems });
}

async function parseToml(text: string, file: string): Promise<Record<string, unknown>> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = `${file}:${error.line}:${error.column}: ${error.message.split("\n")[0]}`;
    throw new VivError("INVALID", message, {}, { cause: error });
  }
}

function readPit(top: ConfigTable): string {
  const service = top.table("service");
  if (service === undefined) {
    const what = top.has("service") ? "service must be a table" : "there is no [service]";
    // A misspelt one has been told.
    if (top.has("service") || !top.keys.some((key) => nearest(key, ["service"]))) {
      top.note(["service"], `${what}; write [service] and in it pit = "./pit"`);
    }
    return ".";
  }
  service.refuseUnknown(["pit"], () => undefined);
  if (!service.has("pit") && !service.keys.some((key) => nearest(key, ["pit"]))) {
    service.note([], '[service] needs the path of the pit, like pit = "./pit"');
  }
  return service.text("pit", "the path of a pit") ?? ".";
}

function readAgents(top: ConfigTable, folder: string): Agent[] {
  const example = "a table for each agent, like [agents.snake-1]";
  const agents = top.table("agents");
  if (agents === undefined || agents.keys.length === 0) {
    if (!top.keys.some((key) => key !== "agents" && nearest(key, ["agents"]))) {
      top.note(["agents"], `there is no agent; write ${example}`);
    }
    return [];
  }
  const found: Agent[] = [];
  for (const name of agents.keys) {
    const table = agents.table(name);
    if (table === undefined) {
      agents.note([name], `${shown(name)} is not a table; [agents] must hold ${example}`);
      continue;
    }
    agents.attempt(name, () => assertAgentName(name));
    found.push(readAgent(name, table, folder));
  }
  return found;
}

/** It is the name of a worker in a pit, where a dot ends it, and of files beside service.json. */
function assertAgentName(name: string): void {
  assertName("worker name", name);
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

function isSpecies(name: string): boolean {
  return Object.hasOwn(SPECIES, name);
}

function readAgent(name: string, table: ConfigTable, folder: string): Agent {
  const species = table.text("species", "the name of a species") ?? speciesOf(name);
  const known = isSpecies(species) ? SPECIES[species] : undefined;
  if (known?.isSweeper) return { name, species, standing: readSweep(table) };
  table.refuseUnknown(WORK_KEYS, (key) => {
    if (SWEEP_KEYS.includes(key)) return "it goes only with the species cleanup";
    return table.hasTable(key) ? "the name of an agent has no dot" : undefined;
  });
  const standing = readStanding(table, folder);
  const takes = readTakes(table);
  const handler = readHandler(table, folder);
  const isWorker = !table.has("run") || table.has("handler");
  if (known === undefined && isWorker && !table.has("takes")) noteUnknown(species, table);
  const worker: AgentWorker = {
    takes: takes ?? known?.takes ?? null,
    ...(handler === undefined ? {} : { handler }),
  };
  return {
    name,
    species,
    ...(isWorker ? { worker } : {}),
    ...(standing === undefined ? {} : { standing }),
  };
}

function noteUnknown(species: string, table: ConfigTable): void {
  const where = table.has("species") ? ["species"] : [];
  const meant = nearest(species, Object.keys(SPECIES));
  const what = `${shown(species)} is not a species we know`;
  if (meant !== undefined) table.note(where, what, meant);
  else {
    const todo = 'say what it works on, like takes = ["audit"], or give it run and every';
    table.note(where, `${what} (${Object.keys(SPECIES).join(", ")}); ${todo}`);
  }
}

function readSweep(table: ConfigTable): AgentStanding {
  table.refuseUnknown(SWEEP_KEYS, (key) =>
    AGENT_KEYS.includes(key)
      ? "cleanup is built in; for a command of your own choose another species"
      : undefined,
  );
  return {
    everyMs: readEvery(table) ?? SWEEP_EVERY_MS,
    timeoutMs: table.duration("timeout") ?? DEFAULT_TIMEOUT_MS,
    does: {
      kind: "sweep",
      abandonedAfterMs: table.duration("abandoned_after") ?? ABANDONED_AFTER_MS,
      keepLogsMs: table.duration("keep_logs") ?? KEEP_LOGS_MS,
    },
  };
}

function readStanding(table: ConfigTable, folder: string): AgentStanding | undefined {
  const everyMs = readEvery(table);
  const timeoutMs = table.duration("timeout") ?? DEFAULT_TIMEOUT_MS;
  if (!table.has("run")) {
    const isMisspelt = table.keys.some((key) => !AGENT_KEYS.includes(key) && nearest(key, ["run"]));
    for (const key of ["every", "timeout"]) {
      if (isMisspelt || !table.has(key)) continue;
      table.note([key], `${key} goes only with a command, like run = "./${key}.sh"`);
    }
    return undefined;
  }
  const isMisspelt = table.keys.some((key) => !AGENT_KEYS.includes(key) && nearest(key, ["every"]));
  if (!table.has("every") && !isMisspelt) {
    table.note(["run"], 'run needs to know how often, like every = "5m"');
  }
  const argv = readRun(table, folder);
  return everyMs && argv ? { everyMs, timeoutMs, does: { kind: "run", argv } } : undefined;
}

function readEvery(table: ConfigTable): number | undefined {
  const ms = table.duration("every");
  if (ms === undefined || ms >= SHORTEST_MS) return ms;
  table.note(["every"], "every must be at least 1s");
  return undefined;
}

function readRun(table: ConfigTable, folder: string): string[] | undefined {
  if (typeof table.get("run") === "string") {
    const program = table.text("run", "the path or the name of a command");
    if (program === undefined) return undefined;
    if (/\s/.test(program)) {
      const words = program.trim().split(/\s+/).map(shown).join(", ");
      table.note(
        ["run"],
        `run has a space in it; write a list, one item for each word: [${words}]`,
      );
    }
    return [programAt(program, folder)];
  }
  const words = table.texts("run", 'a string, or a list of them like ["python3", "keeper.py"]');
  if (words === undefined) return undefined;
  const [program = "", ...rest] = words;
  if (program.trim() === "") {
    table.note(["run"], "run is empty; its first item must be the command to start");
  }
  return [programAt(program, folder), ...rest];
}

function readHandler(table: ConfigTable, folder: string): string | undefined {
  const handler = table.text("handler", "the path or the name of one program");
  if (handler === undefined) return undefined;
  if (/\s/.test(handler)) {
    table.note(
      ["handler"],
      "handler has a space in it; put the words into a script, and name that",
    );
  }
  return programAt(handler, folder);
}

/** A plain name is looked for in PATH. */
function programAt(program: string, folder: string): string {
  return program.includes("/") ? resolve(folder, program) : program;
}

function readTakes(table: ConfigTable): string[] | undefined {
  const takes = table.texts("takes", 'a list of types, like ["audit"]');
  if (takes?.length === 0) table.note(["takes"], "takes is empty; name a type, or leave it out");
  for (const type of takes ?? []) table.attempt("takes", () => assertTypeName(type));
  if (takes !== undefined && table.has("run") && !table.has("handler")) {
    table.note(["takes"], "takes goes only with a worker; give it a handler as well");
  }
  return takes;
}
