import { parseRecord } from "../base/json.ts";
import type { ChildEnd } from "../platform/processes/children.ts";
import type { Finished } from "../platform/processes/handlers.ts";
import type { Agent, AgentStanding, AgentWorker } from "./agents.ts";

/** The place and the environment that agents are started with. */
export interface Surroundings {
  pit: string;
  /** Of agents.toml: a worker finds its viv.toml from there. */
  folder: string;
  /** How to start viv itself. */
  viv: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Further variables, which hand the last good viv.toml on. */
  handing(): Readonly<Record<string, string>>;
  drain: boolean;
}

export function workerArgv(
  agent: Agent,
  { takes, handler }: AgentWorker,
  { viv, pit, drain }: Surroundings,
): string[] {
  return [
    ...[...viv, "work", `--run=${pit}`, `--worker-id=${agent.name}`],
    ...(takes === null ? [] : [`--types=${takes.join(",")}`]),
    ...(handler === undefined ? [] : [`--handler=${handler}`]),
    ...(drain ? ["--drain", "--exit-zero"] : []),
    ...["--until-stdin-closes", "--json"],
  ];
}

export function runArgv({ does }: AgentStanding, { viv, pit }: Surroundings): readonly string[] {
  if (does.kind === "run") return does.argv;
  const stale = `--stale-after=${does.abandonedAfterMs / 1000}`;
  const logs = `--keep-logs=${does.keepLogsMs / 1000}s`;
  return [...viv, "pit", "sweep", `--run=${pit}`, stale, logs];
}

export function agentEnv(agent: Agent, { env, pit }: Surroundings): Record<string, string> {
  return { ...env, VIV_RUN: pit, VIV_AGENT: agent.name };
}

/** A line of `viv work --json` that changes the state of an agent. */
export type WorkerNews =
  | { kind: "idle" | "busy" }
  /** Empty reasons: no food is held back any more. */
  | { kind: "held"; reasons: string }
  | { kind: "warning"; message: string };

export function newsIn(line: string): WorkerNews | null {
  const event = parseRecord(line);
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
  const line = lastLine(lastWords);
  const error = parseRecord(line)?.error as Record<string, unknown> | undefined;
  if (typeof error?.message !== "string") return { message: line };
  return { code: String(error.code), message: error.message.split("\n")[0] ?? "" };
}

/** For people: why a worker ended. */
export function describeEnd(end: ChildEnd): string {
  if (end.error !== undefined) return end.error;
  return withDetail(end.signal ?? `exit ${end.exit}`, lastError(end).message);
}

/** For people: why a run failed; empty when it did not. */
export function describeRun({ cause, exit, signal, error, tail }: Finished): string {
  if (cause === "stopped" || (cause === "exit" && exit === 0)) return "";
  if (cause === "unstartable") return error ?? "its run could not be started";
  if (cause === "timed_out") return "its run was ended after its timeout";
  return withDetail(`its run failed: ${signal ?? `exit ${exit}`}`, lastLine(tail).slice(0, 200));
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}

function withDetail(how: string, detail: string): string {
  return detail === "" ? how : `${how}: ${detail}`;
}
