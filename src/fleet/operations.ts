import { join, resolve } from "node:path";
import * as z from "zod/mini";
import type { Machine } from "../base/clock.ts";
import { messageOf, VivError } from "../base/errors.ts";
import { flag, text } from "../operation/fields.ts";
import {
  type Context,
  definedIn,
  defineOperation,
  type Here,
  type Nothing,
  serve,
} from "../operation/operation.ts";
import { type Agent, type AgentsConfig, parseAgents } from "./agents.ts";
import type { AgentState, ServiceState } from "./up-files.ts";
import { programPort, type UpEvent, type UpHost, upPort } from "./up-ports.ts";
import { lingering, upService } from "./up-service.ts";
import { LEFT_OVER, leftoverNote, NOT_RUNNING, stateOf } from "./ups.ts";

export const upInput = z.strictObject({
  config: text("agents file (default: ./agents.toml)"),
  drain: flag("exit when nothing is left to do; with 1 if a task failed meanwhile"),
  exit_zero: flag("exit with 0 also if a task failed (--drain)"),
});

type UpInput = z.output<typeof upInput>;

/** The agents of an agents.toml around their pit, until they are stopped or have drained. */
export function upStream(context: Context, given: UpInput) {
  return serve<UpEvent, Nothing>(context, async (emit) => {
    const service = await serviceFor(context, given, emit);
    return {
      stop: () => service.stop(),
      stopNow: () => service.stopNow(),
      run: async () => {
        if (context.signal.aborted) return {};
        // Also when all are parked: viv status -c must find it there, and why.
        const alive = setInterval(() => {}, 60_000);
        try {
          await service.run();
        } finally {
          clearInterval(alive);
          service.unfollow();
        }
        return {};
      },
    };
  });
}

async function serviceFor(
  context: Context,
  { config: path, drain = false }: UpInput,
  emit: (event: UpEvent) => void,
) {
  const { here } = context;
  const host = await context.use(upPort);
  const config = await readAgentsAndPit(path ?? "agents.toml", here, host);
  if (drain && !config.agents.some(({ worker }) => worker)) {
    const message = `no agent in ${config.file} works on food, so that --drain would end at once.`;
    throw new VivError("USAGE", message);
  }
  const { node, viv } = await context.use(programPort);
  const { handing, stop } = host.followConfig(here.config);
  const around = { viv: [node, viv], env: definedIn(here.env), handing, drain };
  const log = host.filesIn(config.pit.path).openLog(); // nothing comes before it has the pit
  const tell = (event: UpEvent) => {
    const at = new Date(context.now()).toISOString();
    log.write(Buffer.from(`${JSON.stringify({ at, ...event })}\n`));
    emit(event);
  };
  return { ...upService(config, around, host, tell), unfollow: stop };
}

/** The agents.toml of that path, whose pit is there. */
export async function readAgentsAndPit(
  path: string,
  here: Here,
  host: UpHost,
): Promise<AgentsConfig> {
  const config = await readAgents(path, here, host);
  assertPit(config, here, host);
  return config;
}

/** The absolute path of an agents.toml, as given after -c. */
export function agentsFile(path: string, { env, cwd }: Here): string {
  const isAtHome = env.HOME !== undefined && path.startsWith("~/");
  return isAtHome ? join(env.HOME ?? "", path.slice(2)) : resolve(cwd, path);
}

export function readAgents(path: string, here: Here, host: UpHost): Promise<AgentsConfig> {
  const file = agentsFile(path, here);
  let text: string;
  try {
    text = host.readText(file);
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const message = isMissing
      ? `there is no ${file}; write it, or name it with: -c FILE`
      : `cannot read ${file}: ${messageOf(cause)}`;
    throw new VivError("INVALID", message, {}, { cause });
  }
  return parseAgents(text, file);
}

function assertPit({ file, folder, pit }: AgentsConfig, { cwd }: Here, host: UpHost): void {
  if (["food", "claimed"].every((name) => host.isFolder(join(pit.path, name)))) return;
  const path = folder === cwd ? pit.asWritten : pit.path;
  const what = host.isFolder(pit.path) ? "is not a pit" : "is not there";
  const message = `${file}: the pit ${pit.path} ${what}; make it with: viv pit init ${path}`;
  throw new VivError("RUN_NOT_FOUND", message, { path: pit.path });
}

const shownAgent = z.object({
  name: z.string(),
  species: z.string(),
  /** As in `up-files.ts`, `not running` or `left over`. */
  state: z.string(),
  pid: z.nullable(z.number()),
  since: z.nullable(z.string()),
  restarts: z.number(),
  last_run: z.nullable(z.string()),
  next_run: z.nullable(z.string()),
  last_exit: z.nullable(z.union([z.number(), z.string()])),
  note: z.string(),
  digesting: z.array(z.string()),
});

const output = z.object({
  config: z.string(),
  pit: z.string(),
  service: z.object({
    state: z.string(),
    pid: z.nullable(z.number()),
    host: z.nullable(z.string()),
    since: z.nullable(z.string()),
    note: z.string(),
  }),
  agents: z.array(shownAgent),
});

export type SpeciesOutput = z.output<typeof output>;

/** `viv status --config agents.toml`. */
export const species = defineOperation({
  name: "fleet status",
  summary: "the agents of an agents.toml, and the service that keeps them alive",
  input: z.strictObject({ config: z.string().check(z.describe("the agents.toml")) }),
  changes: () => false,
  output,
  async run(context, given) {
    const host = await context.use(upPort);
    const config = await readAgents(given.config, context.here, host);
    const pit = config.pit.path;
    const files = host.filesIn(pit);
    const service = shownService(files.service(), host.machine);
    const claims = new Map(
      host.isFolder(pit) ? (await host.workersIn(pit)).map((one) => [one.name, one.claims]) : [],
    );
    const agents = config.agents.map((agent) => {
      const state = files.agent(agent.name);
      return shown(agent, state, service.state, host.machine, claims.get(agent.name) ?? []);
    });
    return { config: config.file, pit, service, agents };
  },
});

function shownService(found: ServiceState | null, machine: Machine): SpeciesOutput["service"] {
  const none = { state: NOT_RUNNING, pid: null, host: null, since: null };
  if (found === null) return { ...none, note: "it was never started here: viv up" };
  const { state, pid, host, since, note } = found;
  if (state === "stopped" || state === "ended") return { state, pid: null, host, since, note };
  const vitality = machine.vitality(found);
  if (vitality === "gone") {
    return { ...none, since, note: `pid ${pid} is gone and did not stop in order: viv up` };
  }
  const unverified = `last reported on ${host}; cannot be verified from this host`;
  return { state, pid, host, since, note: vitality === "alive" ? note : unverified };
}

function shown(
  { name, species: kind }: Agent,
  found: AgentState | null,
  service: string,
  machine: Machine,
  digesting: string[],
): SpeciesOutput["agents"][number] {
  const nothing = {
    ...{ name, species: kind, state: NOT_RUNNING, pid: null, since: null, restarts: 0 },
    ...{ last_run: null, next_run: null, last_exit: null, note: "", digesting },
  };
  if (found === null) {
    const isUp = service !== NOT_RUNNING;
    return { ...nothing, note: isUp ? "viv up was started before it was in the file" : "" };
  }
  const { state, pid, started, boot, host, since, restarts, next_run, note } = found;
  const { last_run, last_exit } = found;
  const known = { ...nothing, since, restarts, last_run, last_exit };
  if (service === NOT_RUNNING) {
    const [left] = lingering([found], machine);
    if (left === undefined) return { ...known, note: state === "parked" ? note : "" };
    const { pid } = left.process;
    return { ...known, state: LEFT_OVER, pid, note: leftoverNote("its food", pid) };
  }
  const hasProcess = pid !== null && started !== null && boot !== null && host !== null;
  if (hasProcess && machine.vitality({ pid, started, boot, host }) === "gone") {
    return { ...known, note: "its process is gone; viv up will notice in a moment" };
  }
  return { ...known, state: stateOf(found, digesting), pid, next_run, note };
}
