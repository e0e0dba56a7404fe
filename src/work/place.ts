import { resolve } from "node:path";
import type { EngineRoute } from "../engines/config-engine.ts";
import type { Shown } from "../engines/engine.ts";
import { isAttempt } from "../queue/attempt.ts";
import type { Claim, Store } from "../queue/store.ts";
import type { ReadyRoute } from "./attempt.ts";
import { handlerEnv } from "./handler-env.ts";
import type { WorkerHost } from "./host.ts";
import { WORK_SITE } from "./site.ts";

/** Where an attempt works: its folder and its environment. */
export interface Place {
  cwd: string;
  workspace: string | null;
  env: Record<string, string>;
  branch?: string;
  /** What a sandbox shows of the user's home in the engine's own. */
  shows?: readonly Shown[];
}

/** What an attempt is about, and what it works with. */
export interface Scene {
  claim: Claim;
  route: ReadyRoute;
  store: Store;
  host: WorkerHost;
}

export async function placeFor(scene: Scene): Promise<Place> {
  const { claim, route, store, host } = scene;
  const { task, worker, attempt } = claim;
  const { evidence } = host;
  const site = store.extension(WORK_SITE);
  const id = task.task_id;
  const workspace = route.workspace === "none" ? null : await openWorkspace(scene);
  const env = handlerEnv(route.env, {
    runDir: store.location,
    id,
    type: task.task_type,
    worker,
    attempt,
    artifact: route.sandbox.length > 0 ? evidence.artifactInside(id) : evidence.artifactOf(id),
    log: evidence.logOf(id),
    workspace: workspace?.path ?? "",
    evidence: attempt > 1 ? evidence.newestBefore(id, attempt) : "",
    note: attempt > 1 ? await lastWord(store, id) : "",
    ...(site ? { food: site.taskFile(worker, id) } : {}),
  });
  return {
    cwd: workspace?.path ?? site?.folder ?? host.cwd,
    workspace: workspace?.path ?? null,
    env,
    ...(workspace?.branch ? { branch: workspace.branch } : {}),
  };
}

/** In a sandbox, an engine that keeps its state in the user's home has one of its own. */
export async function atHome(
  { claim, route, host }: Scene,
  place: Place,
  { name }: EngineRoute,
): Promise<Place> {
  if (route.sandbox.length === 0) return place;
  const { evidence } = host;
  const id = claim.task.task_id;
  const { home: homeOf } = await host.engine(name);
  if (homeOf === undefined) return place;
  const home = homeOf(evidence.sessionsOf(id), place.env);
  evidence.makeFolders(id, home.folders);
  return { ...place, env: { ...place.env, ...home.env }, shows: home.shows };
}

function openWorkspace({
  claim,
  route,
  store,
  host,
}: Scene): ReturnType<WorkerHost["openWorkspace"]> {
  const { workspace, repository, base, folder } = route;
  return host.openWorkspace({
    kind: workspace,
    root: store.workspaces,
    id: claim.task.task_id,
    ...(repository ? { repository: resolve(folder, repository) } : {}),
    ...(base ? { base } : {}),
  });
}

/** What a person said when sending the task back. */
async function lastWord(store: Store, id: string): Promise<string> {
  const history = (await store.show(id))?.history ?? [];
  for (const record of history.toReversed()) if (!isAttempt(record)) return record.note ?? "";
  return "";
}
