import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Machine } from "../base/clock.ts";
import type { Accounts } from "../engines/accounts/accounts.ts";
import type { Engine, EngineName } from "../engines/engine.ts";
import { followLogs } from "../engines/session-logs.ts";
import type { GatePort } from "../gate/operations.ts";
import { DEFAULT_MERGE, mergeSection } from "../merge/config.ts";
import type { MergeContext } from "../merge/session.ts";
import type { EnginePort } from "../overview/model-operations.ts";
import { PIT_OFFER } from "../pit/fs/offer.ts";
import { createIfAbsentUnsynced } from "../platform/files/atomic-write.ts";
import { guard } from "../platform/files/beneath.ts";
import { assertTrusted, remedyFor, whyNotTrusted } from "../platform/files/owned.ts";
import { stateFolder } from "../platform/files/state-files.ts";
import { programsBeside, readEnd, readText, sizeOf } from "../platform/files/texts.ts";
import { localMachine } from "../platform/processes/machine.ts";
import { ticksOfTree } from "../platform/processes/process-tree.ts";
import { findProgram, probeProgram, whyNoInterpreter } from "../platform/processes/programs.ts";
import { findLayout } from "../queue/fs/open-fs-run.ts";
import type { RouteHost, WorkerHost } from "../work/host.ts";
import type { Beside } from "../work/worker-options.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The gates of accounts on this machine: one for all runs and workers of the user. */
export async function accountsHere(
  env: Env,
  cwd: string,
  now: () => number = Date.now,
): Promise<Accounts> {
  const { accountsIn } = await import("../engines/accounts/account-files.ts");
  const state = stateFolder(env, cwd);
  assertTrusted(state);
  return accountsIn(join(state, "accounts"), { now, random: Math.random });
}

/** The machine's gate: one for all engines that the user runs on it. And those of crews. */
export async function gateHere(
  env: Env,
  cwd: string,
  machine: Machine = localMachine(),
): Promise<GatePort> {
  const [{ gateFilesIn, crewGateFilesIn }, { machineGate }] = await Promise.all([
    import("../gate/ticket-files.ts"),
    import("../gate/machine-gate.ts"),
  ]);
  const state = stateFolder(env, cwd);
  assertTrusted(state);
  const files = gateFilesIn(join(state, "gate"));
  return { machine: machineGate(files, machine), crewIn: crewGateFilesIn, host: machine };
}

export async function engineIn(name: EngineName, sessions: string): Promise<Engine> {
  const { engineNamed } = await import("../engines/named.ts");
  return engineNamed(name, { programs: programsBeside(fileURLToPath(import.meta.url)), sessions });
}

/** What there is of engines on this machine. */
export async function enginesHere(env: Env): Promise<EnginePort> {
  return {
    engine: (name) => engineIn(name, "/nowhere"), // only looked at, never run
    probe: (program) => probeProgram(program, env),
  };
}

/** Why a program that is there is not started; one in PATH is the user's own choice. */
function whyNotRun(program: string): string | null {
  const why = program.includes("/") ? whyNotTrusted(program) : null;
  return why === null ? null : `${program} is not run, because it ${why}; ${remedyFor(program)}`;
}

/** Why a program, by its path or its name in PATH, cannot be started; null when it can. */
export function whyNotInstalled(program: string, path: string | undefined): string | null {
  const found = findProgram(program, path);
  if (found !== null) return whyNotRun(program) ?? whyNoInterpreter(found, path);
  const isThere = program.includes("/") && existsSync(program);
  if (isThere && statSync(program).isDirectory()) {
    return `${program} is a folder; name a program in it`;
  }
  const what = isThere ? `${program} is not executable` : `there is no program ${program}`;
  const where = program.includes("/") ? "" : " in PATH";
  return `${what}${where}; install it, or set binary to its path`;
}

/** With `auto` in [merge], the merge queue; also once a change of viv.toml says so. */
const mergeBeside: WorkerHost["beside"] = (store, host, options) => {
  const settings = () => options.config?.section(mergeSection) ?? DEFAULT_MERGE;
  const openPullRequests: MergeContext["openPullRequests"] = async (ids, tell) => {
    const [{ openPullRequests: open }, { forgeHost }] = await Promise.all([
      import("../merge/forge/open.ts"),
      import("./forge-host.ts"),
    ]);
    await open({ store, host: forgeHost(host.env), config: options.config }, ids, { tell });
  };
  let queue: Promise<Beside> | null = null;
  const begin = () => {
    if (!settings().auto) return;
    queue ??= import("../merge/beside.ts").then((merge) =>
      merge.mergeBeside(store, host, options, settings, { openPullRequests }),
    );
  };
  begin();
  return {
    update: begin,
    settle: async () => (await queue)?.settle?.(),
    stop: async () => (await queue)?.stop(),
  };
};

/** What the check of a route asks of this machine. `sessions`: the folder of the engines' own files. */
export function routeHost(env: Env, sessions = "/nowhere"): RouteHost {
  return {
    engine: (name) => engineIn(name, sessions),
    readText,
    whyNotInstalled: (program) => whyNotInstalled(program, env.PATH),
    whyNotRun,
    whyNoSandbox: async () =>
      (await import("../platform/sandbox/sandbox.ts")).whyNoSandbox(env.PATH),
    whyNoWorktree: async (...args) =>
      (await import("../work/workspaces/open.ts")).whyNoWorktree(...args),
    whyNotReady: async (...args) =>
      (await import("../work/workspaces/check-needs.ts")).whyNotReady(...args),
    env: { ...env }, // a snapshot: to look at the real one costs a call per variable
  };
}

/** Processes, workspaces and sandboxes of this machine, for a worker on the run at `runDir`. */
export async function workerHost(runDir: string, env: Env, cwd: string): Promise<WorkerHost> {
  const [{ localHandlers }, { artifactsIn }] = await Promise.all([
    import("../platform/processes/handlers.ts"),
    import("../work/artifacts.ts"),
  ]);
  // Only tasks that have one pay for loading these.
  const sandbox = () => import("../platform/sandbox/sandbox.ts");
  const workspaces = {
    commit: () => import("../work/workspaces/commit.ts"),
    inspect: () => import("../work/workspaces/inspect.ts"),
    onto: () => import("../work/workspaces/onto.ts"),
    open: () => import("../work/workspaces/open.ts"),
    prepare: () => import("../work/workspaces/prepare.ts"),
    use: () => import("../work/workspaces/use.ts"),
    remove: () => import("../work/workspaces/remove.ts"),
  };
  const root = join(runDir, "workspaces");
  guard(runDir, "strict"); // handlers write there, too
  const isPit = findLayout(runDir, [PIT_OFFER]) !== null;
  const artifacts = join(runDir, isPit ? "record/artifacts" : "artifacts");
  const pitArtifacts = async () =>
    (await import("../pit/waste-files.ts")).pitArtifactsIn(artifacts, join(runDir, "waste"));
  return {
    ...routeHost(env, join(runDir, ".viv/sessions")),
    handlers: localHandlers(),
    artifacts: isPit ? await pitArtifacts() : artifactsIn(artifacts),
    sandboxed: async (argv, request) => (await sandbox()).sandboxedHere(argv, request, env.PATH),
    openWorkspace: async (request) => (await workspaces.open()).openWorkspace(request),
    prepareWorkspace: async (request) => (await workspaces.prepare()).prepareWorkspace(request),
    workspaceUse: async () => (await workspaces.use()).workspaceUseIn(root),
    commitWorkspace: async (...args) => (await workspaces.commit()).commitWorkspace(...args),
    beginOf: async (...args) => (await import("../merge/begin-of.ts")).beginOf(...args),
    unresolvedIn: async (path) => (await workspaces.onto()).unresolvedIn(path),
    worktreeContent: async (id) => (await workspaces.inspect()).worktreeContent(root, id),
    listWorkspaces: async () => (await workspaces.inspect()).listWorkspaces(root),
    removeWorkspace: async (id, landed, how) => {
      const { removeWorkspace } = await workspaces.remove();
      return removeWorkspace(root, id, join(artifacts, `${id}.patch`), landed, how);
    },
    landedAs: async (id) => (await import("../merge/facts.ts")).landedAs(runDir, id),
    accounts: await accountsHere(env, cwd),
    gate: (await gateHere(env, cwd)).machine,
    readEnd,
    followLogs,
    ticksOf: ticksOfTree,
    sizeOf,
    writeIfAbsent: createIfAbsentUnsynced,
    beside: isPit ? (await import("../pit/prove-results.ts")).proveBeside : mergeBeside,
    cwd,
  };
}
