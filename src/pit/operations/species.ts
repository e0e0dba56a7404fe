import * as z from "zod/mini";
import type { Machine, ProcessIdentity } from "../../base/clock.ts";
import type { AgentState, ServiceState } from "../../crew/agent-state.ts";
import type { Agent } from "../../fleet/agents.ts";
import { readAgents, surroundings } from "../../fleet/operations/up.ts";
import { defineOperation } from "../../operation/operation.ts";

const shownAgent = z.object({
  name: z.string(),
  species: z.string(),
  /** As in `model/agent-state.ts`, or `not running`. */
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
