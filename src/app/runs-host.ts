import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../base/clock.ts";
import type { Env } from "../operation/operation.ts";
import { withFileLock } from "../platform/files/file-lock.ts";
import { runRegistryIn } from "../platform/files/run-registry.ts";
import { localMachine } from "../platform/processes/machine.ts";
import type { RunsPort } from "../work/operations/runs.ts";
import { runsFolder } from "./note-run.ts";
import { openRun } from "./open-run.ts";

/** The runs of this user on this machine. */
export async function runsHere(env: Env, cwd: string, machine?: Machine): Promise<RunsPort> {
  const folder = runsFolder(env, cwd);
  const { bytesIn } = await import("../work/workspaces/disk-use.ts");
  const { readServer } = await import("../server/server-file.ts");
  const processes = machine ?? localMachine();
  return {
    open: (path, options) => openRun(path, { ...options, ...(machine ? { machine } : {}) }),
    host: async (store) => (await import("./worker-host.ts")).workerHost(store.folder, env, cwd),
    registry: runRegistryIn(folder),
    exclusively: (act) => {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return withFileLock(join(folder, ".lock"), act, { waitMs: 2_000 });
    },
    bytesIn,
    addressOf: (path) => webAddress(readServer(path, processes)?.address ?? ""),
  };
}

/** Of a run's file: what is no address of a page is none. */
function webAddress(text: string): string | null {
  return /^https?:\/\/[^\s/]+$/.test(text) && URL.canParse(text) ? text : null;
}
