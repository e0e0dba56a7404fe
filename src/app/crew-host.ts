import { randomUUID } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { CrewPorts } from "../crew/crew-ports.ts";
import { followLogs } from "../engines/session-logs.ts";
import { assertTrusted, readTrusted, refuse } from "../platform/files/owned.ts";
import { findUp } from "../platform/files/search-up.ts";
import { localMachine } from "../platform/processes/machine.ts";
import { killTree } from "../platform/processes/process-tree.ts";
import { accountsHere, engineIn, gateHere, whyNotInstalled } from "./worker-host.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Clocks, engines and files of this machine, for crews. */
export async function crewPorts(env: Env, cwd: string): Promise<CrewPorts> {
  const [
    { localHandlers },
    { timers },
    { crewFilesIn },
    { acquireFolder },
    { serveActivity },
    { stampOf, watchFolders },
  ] = await Promise.all([
    import("../platform/processes/handlers.ts"),
    import("../platform/processes/children.ts"),
    import("../crew/crew-files.ts"),
    import("../platform/files/file-lock.ts"),
    import("../crew/activity.ts"),
    import("../platform/files/watch.ts"),
  ]);
  const machine = localMachine();
  return {
    machine,
    timers,
    handlers: localHandlers(),
    accounts: await accountsHere(env, cwd),
    machineGate: (await gateHere(env, cwd, machine)).machine,
    engine: (name, state) => engineIn(name, join(state, "sessions")),
    whyNotInstalled: (program) => whyNotInstalled(program, env.PATH),
    filesIn: (state) => {
      assertTrusted(state);
      return crewFilesIn(state);
    },
    take: acquireFolder,
    readText: readTrusted,
    isThere: existsSync,
    findUp: (name, from) => findUp(name, from, env, ({ path, why }) => refuse(path, why)),
    isFolder: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
    followLogs,
    stampOf,
    watch: watchFolders,
    endTree: killTree,
    serve: serveActivity,
    excludeFromGit: async (folder) =>
      (await import("../platform/git/exclude.ts")).excludeFromGit(folder),
    newMark: randomUUID,
  };
}
