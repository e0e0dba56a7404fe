import type { Agent, AgentStanding, AgentWorker } from "./agents.ts";

/** Where the agents live, and what they are started with. */
export interface Surroundings {
  pit: string;
  /** Of agents.toml: a worker finds its viv.toml from there. */
  folder: string;
  /** How to start viv itself. */
  viv: readonly string[];
  env: Readonly<Record<string, string>>;
  drain: boolean;
}

export function workerArgv(agent: Agent, worker: AgentWorker, around: Surroundings): string[] {
  const { takes, handler } = worker;
  return [
    ...around.viv,
    "work",
    `--run=${around.pit}`,
    `--worker-id=${agent.name}`,
    ...(takes === null ? [] : [`--types=${takes.join(",")}`]),
    ...(handler === undefined ? [] : [`--handler=${handler}`]),
    ...(around.drain ? ["--drain"] : []),
    "--until-stdin-closes",
    "--json",
  ];
}

export function standingArgv({ does }: AgentStanding, around: Surroundings): readonly string[] {
  if (does.kind === "run") return does.argv;
  return [
    ...around.viv,
    "pit",
    "sweep",
    `--run=${around.pit}`,
    `--stale-after=${does.abandonedAfterMs / 1000}`,
    `--keep-logs=${does.keepLogsMs / 1000}s`,
  ];
}

export function agentEnv(agent: Agent, { env, pit }: Surroundings): Record<string, string> {
  return { ...env, VIV_RUN: pit, VIV_AGENT: agent.name };
}
