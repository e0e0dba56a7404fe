import type { ChildEnd } from "../platform/processes/children.ts";
import type { Agent, AgentStanding, AgentWorker } from "./agents.ts";

/** The place and the environment that agents are started with. */
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

export function runArgv({ does }: AgentStanding, around: Surroundings): readonly string[] {
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

/** An event of `viv work --json` that tells the state of an agent. */
export type WorkerNews =
  | { kind: "idle" | "busy" }
  /** Empty reasons: no food is held back any more. */
  | { kind: "held"; reasons: string }
  | { kind: "warning"; message: string };

export function newsIn(line: string): WorkerNews | null {
  const event = objectFrom(line);
  switch (event?.kind) {
    case "started":
    case "ended":
      return { kind: "idle" };
    case "claimed":
      return { kind: "busy" };
    case "held":
      return {
        kind: "held",
        reasons: Array.isArray(event.reasons) ? event.reasons.join("; ") : "",
      };
    case "trouble":
      return { kind: "warning", message: String(event.message ?? "") };
    default:
      return null;
  }
}

/** The code and message of the error it ended with; its last line when that is no error of viv. */
export function lastError({ lastWords }: ChildEnd): { code?: string; message: string } {
  const line = lastWords.trimEnd().split("\n").at(-1) ?? "";
  const error = objectFrom(line)?.error as Record<string, unknown> | undefined;
  if (typeof error?.message !== "string") return { message: line };
  return { code: String(error.code), message: error.message.split("\n")[0] ?? "" };
}

/** For people: why it ended. */
export function describeEnd(end: ChildEnd): string {
  if (end.error !== undefined) return end.error;
  const how = end.signal === null ? `exit ${end.exit}` : end.signal;
  const { message } = lastError(end);
  return message === "" ? how : `${how}: ${message}`;
}

function objectFrom(line: string): Record<string, unknown> | null {
  if (!line.startsWith("{")) return null;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null; // cut off, or not an event
  }
}
