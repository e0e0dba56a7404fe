import { basename, dirname, extname, join, resolve } from "node:path";
import { parse } from "smol-toml";
import { VivError } from "../base/errors.ts";
import { sentence } from "../base/text.ts";
import { placesOf } from "../base/toml-lines.ts";
import { enginesSection } from "../engines/config-engine.ts";
import { pricesSection } from "../engines/costs/config-costs.ts";
import { type Gate, gateInMemory } from "../gate/gate.ts";
import type { Context, Here } from "../operation/operation.ts";
import { crewActivity, keeperActivity, LOOKED_AT } from "./activity.ts";
import { Crew, type CrewHost, type Ticked } from "./crew.ts";
import { type CrewPorts, crewPort } from "./crew-ports.ts";
import { engineRunner, SEED_LIMITS } from "./engine-runner.ts";
import { crewFromTable, type Manifest, type Member, parseManifest } from "./manifest.ts";
import { membersFrom } from "./member-definition.ts";
import type { CrewEvent } from "./ports.ts";
import { prepare } from "./prepare.ts";

export type { CrewEvent } from "./ports.ts";

/** A crew, or the singleton, as flags, environment and files describe it. `run()` it, `stop()` it. */
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
  port: number | null;
  /** Of the singleton: what a manifest would say. */
  keeper: KeeperSettings;
}

/** Paths are absolute. */
export interface KeeperSettings {
  engine?: string;
  command?: string;
  model?: string;
  lifecycle?: string;
  workdir?: string;
  run_if?: string;
  budget_usd_day?: string;
  continuous?: boolean;
}

export interface Startable {
  run(): Promise<void>;
  stop(): Promise<void>;
  stopNow(): Promise<void>;
  /** One tick of one member, without the clocks of the others. */
  tickOnce(name: string): Promise<Ticked>;
}

export async function crewFor(
  context: Context,
  choice: CrewChoice,
  tell: (event: CrewEvent) => void,
): Promise<Startable> {
  const { here, ports } = await crewSurroundings(context);
  assertSensible(choice, ports);
  const host = hostFor(choice, ports);
  const clock = ports.machine.clock;
  const own = choice.isSingleton ? null : gateInMemory({ max: choice.maxConcurrent, clock });
  const gate = own && throughBoth(own, ports.machineGate);
  const runner = runnerFor(choice, here, ports);
  const keeper = { ...choice.keeper, mode: choice.mode };
  const settings = { ...choice, keeper, manifest: choice.file };
  const crew = new Crew(settings, host, { gate, runner, emit: tell });
  const activity = () => activityOf(choice, ports);
  return {
    run: async () => {
      await crew.take();
      const server = choice.port === null ? null : await ports.serve(choice.port, activity);
      try {
        await crew.run(server?.port);
      } finally {
        await server?.close();
      }
    },
    stop: () => crew.stop(),
    stopNow: () => crew.stopNow(),
    tickOnce: (name) => crew.tickAlone(name),
  };
}

/** Before anything is made: where there is no such crew, nothing is left behind. */
function assertSensible(choice: CrewChoice, ports: CrewPorts): void {
  if (!choice.isSingleton) {
    if (!ports.isThere(choice.file)) readManifest(choice, ports); // it says what is wrong
    return;
  }
  singleton(choice);
  const folder = dirname(choice.file);
  if (ports.isFolder(folder)) return;
  throw new VivError(
    "INVALID",
    `there is no folder ${folder}; a keeper needs a def: viv keeper up desk.org`,
  );
}

/** First the crew's slot, then one of the machine's; whoever has both gives both back. */
function throughBoth(own: Gate, machine: Pick<Gate, "acquire">): Gate {
  return {
    ...own,
    acquire: async (request) => {
      const release = await own.acquire(request);
      try {
        const releaseMachine = await machine.acquire(request);
        return () => {
          try {
            releaseMachine();
          } finally {
            release();
          }
        };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

export async function crewSurroundings(
  context: Context,
): Promise<{ here: Here; ports: CrewPorts }> {
  return { here: context.here, ports: await context.use(crewPort) };
}

function hostFor(choice: CrewChoice, ports: CrewPorts): CrewHost {
  const { machine, timers } = ports;
  const folder = dirname(choice.file);
  return {
    machine,
    timers,
    files: ports.filesIn(choice.state),
    take: () => ports.take(choice.state),
    readManifest: () => {
      const read = choice.isSingleton ? singleton(choice) : readManifest(choice, ports);
      return { ...read, log: [...read.log, ...withoutHistory(read.members, folder, ports)] };
    },
    stampOf: (files) => files.map((file) => ports.stampOf(resolve(folder, file))).join(" "),
    watch: (act) => ports.watch([folder, join(choice.state, "inbox")], act),
    endLeftover: (tree) => ports.endTree(tree),
  };
}

export function readManifest(
  choice: Pick<CrewChoice, "file" | "isSingleton">,
  ports: CrewPorts,
): Manifest {
  let text: string;
  try {
    text = ports.readText(choice.file);
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const why = isMissing
      ? `there is no ${choice.file}`
      : `cannot read ${choice.file}: ${(cause as Error).message}`;
    throw new VivError(
      "INVALID",
      `${why}; a crew needs a manifest: viv crew up crew.org`,
      {},
      { cause },
    );
  }
  const { file } = choice;
  if (basename(file) === "viv.toml") {
    // Its other tables are not the crew's business.
    return crewFromTable((parse(text) as { crew?: unknown }).crew, {
      file,
      places: placesOf(text),
    });
  }
  return parseManifest(text, { file, format: extname(file) === ".toml" ? "toml" : "org" });
}

function runnerFor(choice: CrewChoice, here: Here, ports: CrewPorts) {
  const folder = dirname(choice.file);
  const files = ports.filesIn(choice.state);
  const keyOf = ({ name }: Member) => (choice.isSingleton ? "" : name);
  const env = Object.fromEntries(
    Object.entries(here.env).filter((one): one is [string, string] => one[1] !== undefined),
  );
  return engineRunner(
    {
      handlers: ports.handlers,
      engine: (name) => ports.engine(name, choice.state),
      accounts: ports.accounts,
      prepare: (member) =>
        prepare(
          {
            folder,
            readText: ports.readText,
            position: (one) => files.position(keyOf(one)),
            recent: (one) => recentOf(files.lastLines(400), one.name),
          },
          member,
        ),
      cwdOf: (member) => cwdOf(member, folder, ports),
      followLogs: ports.followLogs,
      openSteps: (member) =>
        ports.openSteps(join(choice.state, "steps", `${keyOf(member) || "keeper"}.jsonl`)),
      timers: ports.timers,
      env,
      self: () => {
        const { host, boot } = ports.machine.self();
        return { host, boot };
      },
      newMark: ports.newMark,
      now: () => ports.machine.clock.now(),
    },
    {
      ...SEED_LIMITS,
      killAfterMs: 5_000,
      logBytes: 2 * 1024 * 1024,
      prices: here.config?.section(pricesSection) ?? new Map(),
      defaults: here.config?.section(enginesSection) ?? new Map(),
      state: choice.state,
    },
  );
}

function cwdOf(member: Member, folder: string, ports: CrewPorts): string {
  const cwd = member.workdir === null ? folder : resolve(folder, member.workdir);
  if (ports.isFolder(cwd)) return cwd;
  const why = ports.isThere(cwd) ? "is not a folder" : "is not there";
  throw new VivError("INVALID", `its workdir ${cwd} ${why}`);
}

function recentOf(lines: ReturnType<ReturnType<CrewPorts["filesIn"]>["lastLines"]>, name: string) {
  return lines
    .filter(({ agent }) => agent === name)
    .slice(-100)
    .map((line) => JSON.stringify(line))
    .join("\n");
}

export function activityOf(
  choice: Pick<CrewChoice, "state" | "isSingleton">,
  ports: CrewPorts,
): unknown {
  const files = ports.filesIn(choice.state);
  // Thoughts and ends lie between the steps.
  const lines = files.lastLines(10 * LOOKED_AT);
  if (choice.isSingleton) {
    const status = files.status("");
    return status ? keeperActivity(status, lines) : { agent: null, steps: [], thought: null };
  }
  const crew = files.readJson("crew") as { members?: string[] } | null;
  const names = crew?.members ?? files.names().filter((name) => name !== "");
  const statuses = names.flatMap((name) => files.status(name) ?? []);
  return crewActivity(statuses, lines);
}

/**
 * The agent of `viv keeper up`, from what its flags say: as if they stood in a manifest, with the same checks.
 * Only that a mistake is refused: there is nobody else to go on with.
 */
export function singleton(choice: CrewChoice): Manifest & { members: [Member] } {
  const { keeper } = choice;
  const flags = {
    ...{ engine: keeper.engine, command: keeper.command, model: keeper.model },
    ...{ lifecycle: keeper.lifecycle, workdir: keeper.workdir, "run-if": keeper.run_if },
    "budget-usd-day": keeper.budget_usd_day,
    ...{ mode: choice.mode, interval: choice.intervalMs, continuous: keeper.continuous },
  };
  const fields = Object.entries(flags).flatMap(([flag, value]) =>
    value === undefined ? [] : [{ name: flag.toUpperCase(), shown: `--${flag}`, value, line: 1 }],
  );
  const def = { name: "DEF", shown: "the def", value: choice.file, line: 1 };
  const log: string[] = [];
  const raw = { name: nameOf(choice.file), line: 1, fields: [def, ...fields] };
  const [member] = membersFrom([raw], (_, what) => log.push(what));
  const problem = member ? member.problem : (log[0] ?? "it has no def");
  if (member === undefined || problem !== null) {
    throw new VivError("USAGE", sentence(problem ?? ""));
  }
  return { members: [member], log };
}

function nameOf(file: string): string {
  const name = basename(file).replace(/\.[^.]*$/, "");
  return name.replace(/[^A-Za-z0-9_-]+/g, "-") || "keeper";
}

/**
 * A line for each folder that somebody works in and that is in no git repository. They run all the same: whoever
 * only looks harms nothing, and there are crews without a board. But what is changed there cannot be taken back,
 * and `viv board` refuses such a place.
 */
export function withoutHistory(
  members: readonly Member[],
  folder: string,
  ports: Pick<CrewPorts, "isThere" | "isFolder">,
): string[] {
  const found = new Map<string, string[]>();
  for (const { name, workdir, mode, problem } of members) {
    // The manifest's own folder is nobody's choice, unless they change things there.
    if (problem !== null || (workdir === null && mode === "plan")) continue;
    const place = resolve(folder, workdir ?? ".");
    if (ports.isFolder(place)) found.set(place, [...(found.get(place) ?? []), name]);
  }
  return [...found].flatMap(([place, names]) => {
    if (isInRepository(place, ports)) return [];
    const who = `${names.join(", ")} ${names.length === 1 ? "works" : "work"} in ${place}`;
    const means = "what is changed there cannot be taken back, and viv board does not work";
    return [`${who}, which is not in a git repository: ${means}; to make it one: git init`];
  });
}

function isInRepository(place: string, { isThere }: Pick<CrewPorts, "isThere">): boolean {
  for (let folder = place; ; folder = dirname(folder)) {
    if (isThere(join(folder, ".git"))) return true;
    if (dirname(folder) === folder) return false;
  }
}
