import { resolve } from "node:path";
import { isVivError, messageOf } from "../base/errors.ts";
import { idWord } from "../base/names.ts";
import { isMachineError, isTransient, Unrecorded } from "../platform/machine-retry.ts";
import { needsAnything } from "./config-needs.ts";
import { type AttemptEnd, type Ending, reportOf } from "./ending.ts";
import type { AttemptContext, Place } from "./place.ts";
import type { Runner } from "./runner.ts";
import { type Prepared, type PrepareRequest, SETUP_TIMEOUT_MS } from "./workspaces/prepare.ts";
import { routeMark } from "./workspaces/setup-failures.ts";

/** In a sandbox the caches of package managers are read-only, and its /tmp is empty. */
const SANDBOX_CACHES = {
  XDG_CACHE_HOME: "/tmp/cache",
  npm_config_cache: "/tmp/cache/npm",
  YARN_CACHE_FOLDER: "/tmp/cache/yarn",
};

/** What makes a worktree ready as a workspace of this route is. */
export function preparation(
  { id, route, host: { artifacts } }: Pick<AttemptContext, "id" | "route" | "host">,
  runner: Runner,
  place: Place,
  where: Pick<PrepareRequest, "path" | "root" | "repository" | "base" | "cacheBytes" | "signal">,
): PrepareRequest {
  const caches = route.sandbox.length > 0 ? SANDBOX_CACHES : {};
  return {
    ...where,
    needs: route,
    scope: { env: route.setEnv ?? [], sandbox: route.sandbox },
    run: (command, { reads }) =>
      runner.execute(
        { ...place, env: { ...caches, ...place.env }, reads },
        ["/bin/sh", "-c", command],
        {
          stdin: "",
          logPath: artifacts.setupLogOf(id),
          timeoutMs: route.setupTimeoutMs ?? SETUP_TIMEOUT_MS,
        },
      ),
    say: (line) => artifacts.noteSetup(id, line),
  };
}

/**
 * Makes the workspace of an attempt ready: files of the checkout, links to it, and the set-up of the
 * route, in its sandbox and environment. If that fails, the task goes back without being charged.
 */
export async function makeReady(
  context: AttemptContext,
  runner: Runner,
  ending: Ending,
  place: Place,
  setupBytes: number,
): Promise<{ place: Place } | { end: Promise<AttemptEnd> }> {
  const { id, route, host, retry, store } = context;
  const { workspace } = place;
  if (workspace === null || !needsAnything(route)) return { place };
  const { artifacts } = host;
  const logPath = artifacts.setupLogOf(id);
  const repository = route.repository ? resolve(route.folder, route.repository) : null;
  let prepared: Prepared;
  try {
    prepared = await retry.briefly(() =>
      host.prepareWorkspace(
        preparation(context, runner, place, {
          ...{ path: workspace, root: store.workspaces, repository, cacheBytes: setupBytes },
          ...{ base: place.base ?? null, signal: retry.stopping },
        }),
      ),
    );
  } catch (error) {
    const isOurs = isMachineError(error) || error instanceof Unrecorded;
    if (isOurs || isVivError(error, "CLAIM_LOST")) throw error;
    prepared = { kind: "failed", note: messageOf(error) };
  }
  const use = await host.workspaceUse();
  if (prepared.kind === "ready") {
    if (prepared.how === "set up" || prepared.how === "kept") use.forgetFailure(route.type);
    const { env, reads } = prepared;
    return { place: { ...place, env: { ...place.env, ...env }, reads } };
  }
  let note: string;
  if (prepared.kind === "ended") {
    const { finished } = prepared;
    const { cause, why, code, error = "" } = finished;
    if (finished.survivors.length > 0) return { end: ending.stuck(finished) };
    if (cause === "stopped") return { end: ending.released(why ?? "the worker stops") };
    if (cause === "unstartable" && isTransient({ code })) {
      return { end: ending.failed({ outcome: "rate_limited", note: error }) };
    }
    ({ note } = reportOf(cause === "timed_out" ? "timed_out" : "failed", finished));
  } else {
    ({ note } = prepared);
    artifacts.noteSetup(id, note);
  }
  const commit = repository === null ? null : await use.baseOf(repository, route.base);
  const failed = { type: route.type, route: routeMark(route), commit, task: id, note };
  await retry.untilDone(() => use.setupFailed({ ...failed, log: logPath }, Date.now()));
  const where = `see: viv logs ${idWord(id)} --setup`;
  return { end: ending.failed({ outcome: "setup_failed", note: `${note}; ${where}` }) };
}
