import { resolve } from "node:path";
import type { Config } from "../base/section.ts";
import type { EngineRoute } from "../engines/config-engine.ts";
import type { Shown } from "../engines/engine.ts";
import type { MachineRetry } from "../platform/machine-retry.ts";
import { isAttempt } from "../queue/attempt.ts";
import type { Claim, ClaimRef, Store } from "../queue/store.ts";
import type { ReadyRoute } from "./attempt.ts";
import type { Route } from "./config-route.ts";
import type { WorkerHost } from "./host.ts";
import { WORK_SITE } from "./host.ts";

/** Where an attempt works: its folder and its environment. */
export interface Place {
  cwd: string;
  workspace: string | null;
  env: Record<string, string>;
  branch: string | undefined;
  /** The commit that the branch began at. */
  base?: string;
  /** What links in the workspace lead to: a sandbox shows it, read-only. */
  reads?: readonly string[];
  /** The claimed file, where a layout has one. */
  claimFile: string | undefined;
  /** What a sandbox shows of the user's home in the engine's own. */
  shows?: readonly Shown[];
}

/** What the parts of an attempt share. */
export interface AttemptContext {
  claim: Claim;
  /** The task's. */
  id: string;
  ref: ClaimRef & { token: string };
  route: ReadyRoute;
  store: Store;
  host: WorkerHost;
  retry: MachineRetry;
  config?: Config;
}

export async function placeFor(context: AttemptContext): Promise<Place> {
  const { claim, id, store, host } = context;
  const site = store.extension(WORK_SITE);
  const { artifacts } = host;
  const workspace = await openWorkspace(context);
  const claimFile = site?.claimFile(claim, artifactFor(context));
  const isRetry = claim.attempt > 1;
  return {
    cwd: workspace?.path ?? site?.folder ?? host.cwd,
    workspace: workspace?.path ?? null,
    env: {
      ...environmentFor(context, workspace?.path ?? ""),
      VIV_EVIDENCE: isRetry ? artifacts.evidenceBefore(id, claim.attempt) : "",
      VIV_NOTE: [isRetry ? await lastNote(store, id) : "", workspace?.note ?? ""]
        .filter(Boolean)
        .join("\n"),
      ...claimFile?.env,
    },
    claimFile: claimFile?.path,
    branch: workspace?.branch,
    base: workspace?.base,
  };
}

type InPlace = Pick<AttemptContext, "claim" | "id" | "route" | "host"> & {
  store: Pick<Store, "location">;
};

function artifactFor({ id, route, host: { artifacts } }: InPlace): string {
  return route.sandbox.length > 0 ? artifacts.artifactInside(id) : artifacts.artifactOf(id);
}

/** The variables of a program that works on a task in this workspace, without news for a retry. */
export function environmentFor(context: InPlace, workspace: string): Record<string, string> {
  const { claim, id, route, store, host } = context;
  // swarm-lib's five, under both prefixes.
  const shared = {
    RUN_DIR: store.location,
    TASK_ID: id,
    WORKER_ID: claim.worker,
    ARTIFACT_PATH: artifactFor(context),
    LOG_PATH: host.artifacts.logOf(id),
  };
  const both = Object.entries(shared).flatMap(([name, value]) => [
    [`SWARM_${name}`, value],
    [`VIV_${name}`, value],
  ]);
  return {
    ...route.env,
    ...Object.fromEntries(both),
    VIV_RUN: store.location,
    VIV_TASK_TYPE: claim.task.task_type,
    VIV_ATTEMPT: String(claim.attempt),
    VIV_WORKSPACE: workspace,
    VIV_EVIDENCE: "",
    VIV_NOTE: "",
  };
}

/** In a sandbox, an engine that keeps its state in the user's home has one of its own. */
export async function atHome(
  { id, route, host: { artifacts, engine } }: AttemptContext,
  place: Place,
  { name }: EngineRoute,
): Promise<Place> {
  if (route.sandbox.length === 0) return place;
  const { home: homeOf } = await engine(name);
  if (homeOf === undefined) return place;
  const home = homeOf(artifacts.sessionsOf(id), place.env);
  artifacts.makeFolders(id, home.folders);
  return { ...place, env: { ...place.env, ...home.env }, shows: home.shows };
}

async function openWorkspace({ claim, id, route, store, host, config }: AttemptContext) {
  const { workspace: kind, repository, base, folder } = route;
  if (kind === "none") return null;
  return host.openWorkspace({
    kind,
    root: store.workspaces,
    id,
    run: store.runId,
    repository: repository ? resolve(folder, repository) : undefined,
    base: base || undefined,
    begin: kind === "worktree" ? await host.beginOf?.(store, claim.task, config) : undefined,
  });
}

/** The note of the last decision that sent the task back. */
async function lastNote(store: Store, id: string): Promise<string> {
  const history = (await store.show(id))?.history ?? [];
  for (const record of history.toReversed()) if (!isAttempt(record)) return record.note ?? "";
  return "";
}

/** Variables of the worker that every handler gets: none is a secret. */
const ALWAYS = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM"];

/**
 * The worker's own variables that a handler gets: those that the route names. With `inheritsAll` (a
 * handler from the command line) all, as in swarm-lib.
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
