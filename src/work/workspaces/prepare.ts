import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { formatTook } from "../../base/duration.ts";
import { isVivError } from "../../base/errors.ts";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import { readText } from "../../platform/files/texts.ts";
import { askGit, type GitPlace } from "../../platform/git/git.ts";
import type { Finished } from "../../platform/processes/handlers.ts";
import { type Needs, needsAnything } from "../config-needs.ts";
import { bring, linkedFrom, planBringing } from "./bring.ts";
import { excludeLine, type ReadyState, writeReady } from "./ready-state.ts";
import { invalid, readRecord, writeRecord } from "./record.ts";
import { keepSetup, keptSetup, restoreSetup, setupFolder, withSetupLock } from "./setup-cache.ts";
import { ignoredIn, isUntouched, look, restoreTracked, strayAfter } from "./setup-effects.ts";
import { type SetupScope, setupKey } from "./setup-key.ts";
import { adminOf, findRepository, placeOf } from "./worktree.ts";

/**
 * Makes a workspace ready for an attempt: brings what `copy` and `link` name, and runs `setup` unless
 * that was done with the same key. Every step may be repeated; a set-up that was killed is done again.
 */
export interface PrepareRequest {
  path: string;
  /** `workspaces/` of the run: what set-ups made is kept there. */
  root: string;
  needs: Needs;
  scope: Omit<SetupScope, "repository">;
  /** Null: a plain folder. */
  repository: string | null;
  /** The commit that a fresh worktree is at. Null: it has work of tasks in it, and nothing is kept. */
  base: string | null;
  /** The most bytes that are kept of all set-ups. */
  cacheBytes: number;
  /** Runs a shell command there; `reads` must be visible in its sandbox. */
  run(command: string, how: { reads: readonly string[] }): Promise<Finished>;
  /** Nothing more is run, and `run` says so. */
  signal?: AbortSignal;
  /** For the log of the set-up. */
  say(line: string): void;
}

export type Prepared =
  | ({ kind: "ready"; how: "nothing" | "before" | "kept" | "set up" } & Prepares)
  /** One sentence, or the end of the command. */
  | { kind: "failed"; note: string }
  | { kind: "ended"; finished: Finished };

interface Prepares {
  /** For the programs that work there. */
  env: Record<string, string>;
  /** What links in it lead to. */
  reads: readonly string[];
}

export const SETUP_TIMEOUT_MS = 10 * 60_000;
/** Another worker may be doing the same set-up: a stop must not have to wait for it. */
const LOOK_AGAIN_MS = 2_000;

export async function prepareWorkspace(request: PrepareRequest): Promise<Prepared> {
  const { needs, path, repository } = request;
  if (!needsAnything(needs)) return { kind: "ready", how: "nothing", env: {}, reads: [] };
  if (repository === null) return setUpFolder(request);
  const { gitDir, path: checkout } = await findRepository(repository);
  const admin = adminOf({ gitDir, path: checkout }, path);
  if (admin === null) throw invalid(path, `${path} is no worktree of ${checkout}.`);
  const place = { ...placeOf(admin, path), gitDir: admin };
  const state = await bring(planBringing(checkout, needs), place, {
    scratch: setupFolder(request.root),
    base: request.base,
  });
  const reads = linkedFrom(path, state);
  const env = await ignoringEnv(place, state, request.scope.env);
  if (needs.setup === undefined) return { kind: "ready", how: "nothing", env, reads };
  const done = await setUp({ ...request, repository: checkout }, needs.setup, place, state, reads);
  return done.kind === "ready" ? { ...done, env, reads } : done;
}

/** The key of a plain folder's set-up is in its record. */
async function setUpFolder({ path, root, needs, scope, run }: PrepareRequest): Promise<Prepared> {
  const { setup } = needs;
  const ready = { kind: "ready", env: {}, reads: [] } as const;
  if (setup === undefined) return { ...ready, how: "nothing" };
  const { key } = setupKey(path, { setup, setupKey: [] }, { ...scope, repository: null });
  const record = readRecord(root, basename(path));
  if (record?.kind !== "dir") throw invalid(path, `${path} is not a workspace.`);
  if (record.setup === key) return { ...ready, how: "before" };
  writeRecord(root, basename(path), { ...record, setup: undefined });
  const finished = await run(setup, { reads: [] });
  if (finished.exit !== 0) return { kind: "ended", finished };
  writeRecord(root, basename(path), { ...record, setup: key });
  return { ...ready, how: "set up" };
}

async function setUp(
  request: PrepareRequest & { repository: string },
  command: string,
  place: GitPlace & { gitDir: string },
  state: ReadyState,
  reads: readonly string[],
): Promise<Prepared> {
  const { root, path, needs, scope, base, say, cacheBytes } = request;
  const ready = { kind: "ready", env: {}, reads: [] } as const;
  const { key, files } = setupKey(path, needs, { ...scope, repository: request.repository });
  // A task, or one who cleans up, may have removed what it made.
  const isWhole = state.made.every((one) => existsSync(join(path, one)));
  if (state.key === key && isWhole) return { ...ready, how: "before" };
  const finish = (made: readonly string[]) => {
    const all = [...new Set([...state.made, ...made])].filter((one) => existsSync(join(path, one)));
    writeReady(place.gitDir, { key, brought: state.brought, made: all });
  };
  const act = async (): Promise<Prepared> => {
    const before = state.before ?? (await look(place, state));
    writeReady(place.gitDir, { ...state, key: null, before });
    const kept = files.length === 0 ? null : keptSetup(root, key);
    if (kept !== null && (await restoreSetup(root, kept, path))) {
      const stray = await strayAfter(place, state, before);
      if (stray !== null) return { kind: "failed", note: stray };
      say(`what this set-up made before was copied: ${kept.paths.join(", ")} (${command})`);
      finish(kept.paths);
      return { ...ready, how: "kept" };
    }
    const finished = await request.run(command, { reads });
    if (finished.exit !== 0) return { kind: "ended", finished };
    await restoreTracked(place, before, say);
    const stray = await strayAfter(place, state, before);
    if (stray !== null) return { kind: "failed", note: stray };
    const made = (await ignoredIn(place)).filter((one) => !before.ignored.includes(one));
    finish(made);
    say(`done in ${formatTook(finished.durationMs)}: ${command}`);
    const isFresh = base !== null && (await isUntouched(place, state, before, base));
    if (!isFresh) return { ...ready, how: "set up" };
    if (files.length === 0) {
      say(
        "nothing of it is kept for other workspaces: there is no lockfile; name files in setup_key",
      );
      return { ...ready, how: "set up" };
    }
    const why = await keepSetup(root, { key, command, paths: made }, path, cacheBytes).catch(
      (error: unknown) => (error as Error).message, // the workspace itself is ready
    );
    if (why !== null) say(`nothing of it is kept for other workspaces: ${why}`);
    return { ...ready, how: "set up" };
  };
  if (files.length === 0) return act();
  for (;;) {
    let isOurs = false;
    const begin = () => {
      isOurs = true;
      return act();
    };
    try {
      return await withSetupLock(root, key, begin, LOOK_AGAIN_MS);
    } catch (error) {
      if (isOurs || !isVivError(error, "LOCKED")) throw error;
      if (request.signal?.aborted)
        return { kind: "ended", finished: await request.run(command, { reads }) };
    }
  }
}

/**
 * A task that commits by itself must not commit what was brought either: its git ignores these paths,
 * besides what the user's own settings ignore everywhere. The user's checkout is not concerned.
 */
async function ignoringEnv(
  place: GitPlace & { gitDir: string },
  { brought }: ReadyState,
  routeEnv: readonly string[],
): Promise<Record<string, string>> {
  const paths = Object.keys(brought);
  if (paths.length === 0 || routeEnv.some((one) => one.startsWith("GIT_CONFIG_"))) return {};
  const asked = await askGit(["config", "--path", "--get", "core.excludesFile"], place);
  const config = process.env.XDG_CONFIG_HOME || join(process.env.HOME ?? homedir(), ".config");
  const users = asked.stdout.toString().trim() || join(config, "git/ignore");
  const theirs = existsSync(users) ? readText(users) : "";
  const file = join(place.gitDir, "viv-ignore");
  const ours = paths.map((path) => `${excludeLine(path)}\n`).join("");
  replaceFileUnsynced(file, `${theirs.replace(/\n?$/, "\n")}${ours}`);
  return {
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.excludesFile",
    GIT_CONFIG_VALUE_0: file,
  };
}
