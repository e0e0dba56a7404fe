import { basename, dirname, extname, join, resolve } from "node:path";
import { parse } from "smol-toml";
import type { Machine } from "../base/clock.ts";
import { messageOf, VivError } from "../base/errors.ts";
import { sentence } from "../base/text.ts";
import { placesOf } from "../base/toml-lines.ts";
import { enginesSection } from "../engines/config-engine.ts";
import { pricesSection } from "../engines/costs/config-costs.ts";
import { type Gate, gateInMemory } from "../gate/gate.ts";
import { type Context, definedIn, type Here } from "../operation/operation.ts";
import { crewActivity, keeperActivity, LOOKED_AT } from "./activity.ts";
import { Crew } from "./crew.ts";
import type { CrewFiles } from "./crew-files.ts";
import { entryOf } from "./crew-ledger.ts";
import { type CrewEvent, type CrewPorts, crewPort } from "./crew-ports.ts";
import { EngineRunner } from "./engine-runner.ts";
import { crewFromTable, type Manifest, type Member, parseManifest } from "./manifest.ts";
import { membersFrom } from "./member-definition.ts";
import type { KeeperSettings } from "./member-status.ts";
import { prepare } from "./prompt.ts";
import { noticesAbout } from "./start-notices.ts";

export interface CrewChoice {
  /** Absolute: the manifest of a crew, or the def of the singleton. */
  file: string;
  isSingleton: boolean;
  state: string;
  graceMs: number;
  staggerMs: number;
  maxConcurrent: number;
  /** Of the singleton. */
  intervalMs: number;
  mode: "plan" | "edit";
  /** By a flag or a variable; else plan is only the default. */
  isModeGiven: boolean;
  port: number | null;
  /** Web pages that may read /_activity. */
  origins: readonly string[];
  keeper: KeeperSettings;
}

/** `only`: the member that notices are about; else all. */
export async function crewFor(
  { here, use }: Context,
  choice: CrewChoice,
  emit: (event: CrewEvent) => void,
  only?: string,
): Promise<Crew> {
  const ports = await use(crewPort);
  const { file, state, isSingleton, port, mode } = choice;
  const { machine, timers, machineGate } = ports;
  assertSensible(choice, here, ports);
  const folder = dirname(file);
  const own = isSingleton
    ? null
    : gateInMemory({ max: choice.maxConcurrent, clock: machine.clock });
  const settings = { ...choice, manifest: file, keeper: { ...choice.keeper, mode } };
  const files = ports.filesIn(state);
  let isFirst = true;
  const fromFile = () => {
    const read = isFirst ? startManifest(file, here, ports) : readManifest(file, ports);
    isFirst = false;
    return read;
  };
  return new Crew(settings, {
    ...{ machine, timers, files, emit: recorded(emit, files, machine) },
    gate: own && throughBoth(own, machineGate),
    runner: runnerFor(choice, here, ports),
    take: () => ports.take(state),
    readManifest: () => {
      const read = isSingleton ? singleton(choice) : fromFile();
      const one = read.members.filter(({ name }) => name === only);
      if (only !== undefined) return { ...read, log: noticesAbout(one, choice, ports) };
      return { ...read, log: [...read.log, ...noticesAbout(read.members, choice, ports)] };
    },
    stampOf: (files) => files.map((one) => ports.stampOf(resolve(folder, one))).join(" "),
    watch: (act) => ports.watch([folder, join(state, "inbox")], act),
    endLeftover: ports.endTree,
    serve: async () =>
      port === null ? null : ports.serve(port, () => activityOf(choice, ports), choice.origins),
    hide: () => ports.excludeFromGit(state),
  });
}

/** Events are told to people and added to the crew's ledger. */
function recorded(
  emit: (event: CrewEvent) => void,
  files: CrewFiles,
  { clock }: Machine,
): (event: CrewEvent) => void {
  let lastProblem = "";
  return (event) => {
    emit(event);
    const entry = entryOf(event);
    if (entry === null) return;
    try {
      files.record(clock.now(), entry);
      lastProblem = "";
    } catch (error) {
      // A gap in the record does not stop a crew, and is reported once.
      const message = messageOf(error);
      if (message !== lastProblem) emit({ kind: "trouble", name: entry.agent, message });
      lastProblem = message;
    }
  };
}

/** Before anything is made: where there is no such crew, nothing is left behind. */
function assertSensible(choice: CrewChoice, here: Here, ports: CrewPorts): void {
  if (!choice.isSingleton) {
    if (!ports.isThere(choice.file)) startManifest(choice.file, here, ports); // throws
    return;
  }
  singleton(choice);
  const folder = dirname(choice.file);
  if (ports.isFolder(folder)) return;
  const message = `there is no folder ${folder}; a keeper needs a def: viv keeper up desk.org`;
  throw new VivError("INVALID", message);
}

/** First the crew's slot, then one of the machine's; both are given back together. */
function throughBoth(own: Gate, machine: Pick<Gate, "acquire">): Gate {
  return {
    ...own,
    acquire: async (request) => {
      const release = await own.acquire(request);
      const releaseMachine = await machine.acquire(request).catch((error: unknown) => {
        release();
        throw error;
      });
      return () => {
        try {
          releaseMachine();
        } finally {
          release();
        }
      };
    },
  };
}

function readManifest(file: string, ports: CrewPorts): Manifest {
  let text: string;
  try {
    text = ports.readText(file);
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const why = isMissing
      ? `there is no ${file}`
      : `cannot read ${file}: ${(cause as Error).message}`;
    const message = `${why}; a crew needs a manifest: viv crew up crew.org`;
    throw new VivError("INVALID", message, {}, { cause });
  }
  return manifestIn(text, file);
}

function manifestIn(text: string, file: string): Manifest {
  if (basename(file) === "viv.toml") {
    // Its other tables are not the crew's.
    const { crew } = parse(text);
    return crewFromTable(crew, { file, places: placesOf(text) });
  }
  return parseManifest(text, { file, format: extname(file) === ".toml" ? "toml" : "org" });
}

/**
 * The manifest that a crew starts with. A `[crew]` in the viv.toml that counts is read from that: the
 * file itself may have mistakes meanwhile.
 */
export function startManifest(file: string, { config }: Here, ports: CrewPorts): Manifest {
  if (config?.file !== file) return readManifest(file, ports);
  const read = manifestIn(config.text, file);
  return isText(file, config.text, ports) ? read : { ...read, isOld: true };
}

function isText(file: string, text: string, { readText }: CrewPorts): boolean {
  try {
    return readText(file) === text;
  } catch {
    return false; // gone, or not to be read: it will be told
  }
}

function runnerFor({ file, state, isSingleton }: CrewChoice, here: Here, ports: CrewPorts) {
  const folder = dirname(file);
  const files = ports.filesIn(state);
  const keyOf = ({ name }: Member) => (isSingleton ? "" : name);
  const recent = ({ name }: Member) => {
    const own = files.lastLines(400).filter(({ agent }) => agent === name);
    return own
      .slice(-100)
      .map((line) => JSON.stringify(line))
      .join("\n");
  };
  const position = (member: Member) => files.position(keyOf(member));
  return new EngineRunner(ports, {
    prepare: (member) => prepare({ folder, readText: ports.readText, position, recent }, member),
    cwdOf: (member) => cwdOf(member, folder, ports),
    stepsPath: (member) => join(state, "steps", `${keyOf(member) || "keeper"}.jsonl`),
    env: definedIn(here.env),
    prices: here.config?.section(pricesSection) ?? new Map(),
    defaults: here.config?.section(enginesSection) ?? new Map(),
    state,
  });
}

function cwdOf(member: Member, folder: string, ports: CrewPorts): string {
  const cwd = member.workdir === null ? folder : resolve(folder, member.workdir);
  if (ports.isFolder(cwd)) return cwd;
  const why = ports.isThere(cwd) ? "is not a folder" : "is not there";
  throw new VivError("INVALID", `its workdir ${cwd} ${why}`);
}

function activityOf({ state, isSingleton }: CrewChoice, ports: CrewPorts): unknown {
  const files = ports.filesIn(state);
  // Thoughts and ends lie between the steps.
  const lines = files.lastLines(10 * LOOKED_AT);
  if (isSingleton) {
    const status = files.status("");
    return status ? keeperActivity(status, lines) : { agent: null, steps: [], thought: null };
  }
  const names = files.crew()?.members ?? files.names().filter((name) => name !== "");
  const statuses = names.flatMap((name) => files.status(name) ?? []);
  return crewActivity(statuses, lines);
}

/**
 * The agent of `viv keeper up`: its flags are read as if they stood in a manifest. A mistake is
 * refused, because there is no other member to go on with.
 */
function singleton({ file, mode, isModeGiven, intervalMs, keeper }: CrewChoice): Manifest {
  const flags = { ...keeper, mode: isModeGiven ? mode : undefined, interval: intervalMs };
  const fields = Object.entries(flags).flatMap(([key, value]) => {
    const name = key.replaceAll("_", "-");
    return value === undefined ? [] : [{ name, shown: `--${name}`, value, line: 1 }];
  });
  const def = { name: "def", shown: "the def", value: file, line: 1 };
  const log: string[] = [];
  const name = basename(file)
    .replace(/\.[^.]*$/, "")
    .replace(/[^A-Za-z0-9_-]+/g, "-");
  const raw = { name: name || "keeper", line: 1, fields: [def, ...fields] };
  const [member] = membersFrom([raw], (_, what) => log.push(what));
  const problem = member ? member.problem : (log[0] ?? "it has no def");
  if (member === undefined || problem !== null) {
    throw new VivError("USAGE", sentence(problem ?? ""));
  }
  return { members: [member], log };
}
