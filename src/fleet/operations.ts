import { join, resolve } from "node:path";
import * as z from "zod/mini";
import type { Machine, ProcessIdentity } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { flag, text } from "../operation/fields.ts";
import {
  type Context,
  defineOperation,
  type Here,
  type Nothing,
  serve,
} from "../operation/operation.ts";
import type { AgentState, ServiceState } from "./agent-state.ts";
import { type Agent, type AgentsConfig, parseAgents } from "./agents.ts";
import { programPort, type UpEvent, type UpHost, upPort } from "./ports.ts";
import { UpService } from "./up-service.ts";

export type { UpEvent, UpHost } from "./ports.ts";

export const upInput = z.strictObject({
  config: text("agents file (default ./agents.toml)"),
  drain: flag("exit when its workers have nothing left to do"),
});

export type UpInput = z.output<typeof upInput>;

/** The agents of an agents.toml around their pit, until they are stopped or have drained. */
export function upStream(context: Context, given: UpInput) {
  return serve<UpEvent, Nothing>(context, async (emit) => {
    const service = await upFor(context, given, emit);
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
        }
        return {};
      },
    };
  });
}

/** The service that these flags describe. `run()` it, `stop()` it. */
export async function upFor(
  context: Context,
  given: UpInput,
  tell: (event: UpEvent) => void,
): Promise<UpService> {
  const { here, host } = await surroundings(context);
  const hint = given.config === undefined ? CREW_HINT : "";
  const config = await readAgents(given.config ?? "agents.toml", here, host, hint);
  assertPit(config, here, host);
  const drain = given.drain === true;
  if (drain && !config.agents.some(({ worker }) => worker)) {
    const message = `no agent in ${config.file} works on food, so that --drain would end at once.`;
    throw new VivError("USAGE", message);
  }
  const env = Object.entries(here.env).filter(
    (one): one is [string, string] => one[1] !== undefined,
  );
  const { node, viv } = await context.use(programPort);
  const around = { viv: [node, viv], env: Object.fromEntries(env), drain };
  return new UpService(config, around, host, tell);
}

const CREW_HINT = "; for a crew: viv crew up crew.org (or WB_CREW_DEF, or [crew] in viv.toml)";

export async function surroundings(context: Context): Promise<{ here: Here; host: UpHost }> {
  return { here: context.here, host: await context.use(upPort) };
}

export async function readAgents(
  path: string,
  here: Here,
  host: UpHost,
  hint = "",
): Promise<AgentsConfig> {
  const home = here.env.HOME;
  const isAtHome = home !== undefined && path.startsWith("~/");
  const file = isAtHome ? join(home, path.slice(2)) : resolve(here.cwd, path);
  return parseAgents(textOf(file, host, hint), file);
}

function textOf(file: string, host: UpHost, hint: string): string {
  try {
    return host.readText(file);
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const message = isMissing
      ? `there is no ${file}; write it, or say where it is with: -c FILE${hint}`
      : `cannot read ${file}: ${(cause as Error).message}`;
    throw new VivError("INVALID", message, {}, { cause });
  }
}

function assertPit({ file, folder, pit }: AgentsConfig, { cwd }: Here, host: UpHost): void {
  if (["food", "claimed"].every((name) => host.isFolder(join(pit.path, name)))) return;
  const path = folder === cwd ? pit.asWritten : pit.path;
  const what = host.isFolder(pit.path) ? "is not a pit" : "is not there";
  throw new VivError(
    "RUN_NOT_FOUND",
    `${file}: the pit ${pit.path} ${what}; make it with: viv pit init ${path}`,
    { path: pit.path },
  );
}

const shownAgent = z.object({
  name: z.string(),
  species: z.string(),
  /** As in `agent-state.ts`, or `not running`. */
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

type ShownAgent = z.output<typeof shownAgent>;

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

const NOT_RUNNING = "not running";

/** `viv status --config agents.toml`. */
export const species = defineOperation({
  name: "fleet status",
  summary: "the agents of an agents.toml, and the service that keeps them alive",
  input: z.strictObject({ config: z.string().check(z.describe("the agents.toml")) }),
  output,
  async run(context, given) {
    const { here, host } = await surroundings(context);
    const config = await readAgents(given.config, here, host);
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
  const nobody = { state: NOT_RUNNING, pid: null, host: null, since: null };
  if (found === null) return { ...nobody, note: "it was never started here: viv up" };
  const { state, pid, host, since, note } = found;
  if (state === "stopped" || state === "ended") return { state, pid: null, host, since, note };
  const vitality = machine.vitality(found);
  if (vitality === "alive") return { state, pid, host, since, note };
  if (vitality === "unknown") {
    return { state, pid, host, since, note: `it says so on ${host}; nobody can tell from here` };
  }
  return { ...nobody, since, note: `pid ${pid} is gone and did not stop in order: viv up` };
}

function shown(
  { name, species: kind }: Agent,
  found: AgentState | null,
  service: string,
  machine: Machine,
  digesting: string[],
): ShownAgent {
  const nothing = {
    ...{ name, species: kind, state: NOT_RUNNING, pid: null, since: null, restarts: 0 },
    ...{ last_run: null, next_run: null, last_exit: null, note: "", digesting },
  };
  if (found === null) {
    const isUp = service !== NOT_RUNNING;
    return { ...nothing, note: isUp ? "viv up was started before it was in the file" : "" };
  }
  const { state, pid, since, restarts, last_run, next_run, last_exit, note } = found;
  const known = { ...nothing, since, restarts, last_run, last_exit };
  if (service === NOT_RUNNING) return { ...known, note: state === "parked" ? note : "" };
  const identity = identityOf(found);
  if (identity !== null && machine.vitality(identity) === "gone") {
    return { ...known, note: "its process is gone; viv up will notice in a moment" };
  }
  const isDigesting = digesting.length > 0 && (state === "idle" || state === "starting");
  return { ...known, state: isDigesting ? "working" : state, pid, next_run, note };
}

function identityOf({ pid, started, boot, host }: AgentState): ProcessIdentity | null {
  if (pid === null || started === null || boot === null || host === null) return null;
  return { pid, started, boot, host };
}
