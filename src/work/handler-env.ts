import type { Route } from "./config-route.ts";

/** What every handler gets of the worker's environment: nothing in it is a secret. */
const ALWAYS = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM"];

export interface Situation {
  runDir: string;
  id: string;
  type: string;
  worker: string;
  attempt: number;
  artifact: string;
  log: string;
  workspace: string;
  evidence: string;
  note: string;
  /** In a pit: the claimed file. */
  food?: string;
}

/**
 * Of the worker's own environment only what the route names: a handler does not inherit secrets it
 * was not given. A handler from the command line gets all, as swarm-lib's do: whoever typed it chose
 * the environment, too.
 */
export function inheritedEnv(
  own: Readonly<Record<string, string | undefined>>,
  route: Pick<Route, "env"> & { inheritsAll?: boolean },
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined || /^(VIV|SWARM)_/.test(name)) continue;
    if (route.inheritsAll || ALWAYS.includes(name) || name.startsWith("LC_")) env[name] = value;
  }
  for (const entry of route.env) {
    const [name = "", ...value] = entry.split("=");
    if (entry.includes("=")) env[name] = value.join("=");
    else if (own[name] !== undefined) env[name] = own[name];
  }
  return env;
}

/** swarm-lib's five variables, and ours. */
export function handlerEnv(
  inherited: Readonly<Record<string, string>>,
  at: Situation,
): Record<string, string> {
  return {
    ...inherited,
    SWARM_RUN_DIR: at.runDir,
    SWARM_TASK_ID: at.id,
    SWARM_WORKER_ID: at.worker,
    SWARM_ARTIFACT_PATH: at.artifact,
    SWARM_LOG_PATH: at.log,
    VIV_RUN: at.runDir,
    VIV_RUN_DIR: at.runDir,
    VIV_TASK_ID: at.id,
    VIV_TASK_TYPE: at.type,
    VIV_WORKER_ID: at.worker,
    VIV_ARTIFACT_PATH: at.artifact,
    VIV_LOG_PATH: at.log,
    VIV_ATTEMPT: String(at.attempt),
    VIV_WORKSPACE: at.workspace,
    VIV_EVIDENCE: at.evidence,
    VIV_NOTE: at.note,
    ...(at.food === undefined ? {} : { VIV_FOOD: at.food, VIV_RESULT: at.artifact }),
  };
}
