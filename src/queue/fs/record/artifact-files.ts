import { closeSync, fstatSync, readSync } from "node:fs";
import { machineErrorOf } from "../../../base/errno.ts";
import { VivError } from "../../../base/errors.ts";
import { assertName } from "../../../base/names.ts";
import { openSync } from "../../../platform/files/beneath.ts";
import { watchPaths } from "../../../platform/files/watch.ts";
import { pause } from "../../../platform/machine-retry.ts";
import type { Proof } from "../../attempt.ts";
import type { Artifacts } from "../../store.ts";
import {
  errno,
  namesIn,
  readRegular,
  replaceFile,
  SAFE_OPEN,
  syncFolder,
} from "../files/atomic.ts";
import { type FsRun, temporaryPath } from "../fs-run.ts";
import { locate } from "../locate.ts";

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_PROOF_BYTES = 1024 * 1024;

/** `artifacts/<name>`. Handlers write there too, so anything may lie there. */
export function artifactsOf(run: FsRun): Artifacts {
  const folder = run.paths.artifacts;
  const pathOf = (name: string) => `${folder}/${assertArtifact(name)}`;
  return {
    list: async () => namesIn(folder).filter((name) => !name.startsWith(".")),
    read: async (name) => readRegular(pathOf(name), MAX_BYTES)?.text ?? null,
    write: async (name, text) => {
      const isSafe = run.durability === "safe";
      replaceFile(pathOf(name), temporaryPath(run, "artifact"), text, isSafe);
      if (isSafe) syncFolder(folder);
    },
    pathOnThisHost: pathOf,
  };
}

/** A task id and a suffix, so longer than a name. */
function assertArtifact(name: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/.test(name)) return name;
  const problem = `artifact name ${JSON.stringify(name)} is not usable`;
  throw new VivError("INVALID", `${problem}; use at most 200 letters, digits and . _ -`);
}

/** The result of `done_when`; null when there is none that can be read. */
export function readProof(run: FsRun, rawId: string): Proof | null {
  const id = assertName("task id", rawId);
  try {
    const file = readRegular(`${run.paths.artifacts}/${id}.proof.json`, MAX_PROOF_BYTES);
    return file && (JSON.parse(file.text) as Proof);
  } catch (error) {
    if (machineErrorOf(error) !== undefined) throw error;
    return null; // a handler may write there too: a text that is no proof proves nothing
  }
}

const CHUNK = 64 * 1024;
/** Behind the notifications, for logs on filesystems that have none. */
const LOOK_AGAIN_MS = 500;

/** `artifacts/<id>.log`, or that of the set-up, from its beginning; with `follow`, as it grows. */
export async function* readLog(
  run: FsRun,
  rawId: string,
  options: { follow?: boolean; setup?: boolean; signal?: AbortSignal },
): AsyncGenerator<string> {
  const id = assertName("task id", rawId);
  const path = `${run.paths.artifacts}/${id}${options.setup ? ".setup" : ""}.log`;
  const decoder = new TextDecoder();
  const { follow = false, signal } = options;
  let woken = new AbortController();
  const wake = () => woken.abort();
  const unwatch = watchPaths(follow ? [run.paths.artifacts] : [], wake);
  signal?.addEventListener("abort", wake);
  let offset = 0;
  let fd = -1;
  try {
    for (;;) {
      woken = new AbortController(); // before the look: a change meanwhile cuts the pause short
      // The state first: text that a task wrote before its end is read before we stop.
      const place = follow ? locate(run, id) : null;
      if (fd < 0) fd = openLog(path);
      if (fd >= 0) {
        if (fstatSync(fd).size < offset) offset = 0; // a new attempt began the log anew
        const chunk = Buffer.allocUnsafe(CHUNK);
        for (;;) {
          const n = readSync(fd, chunk, 0, CHUNK, offset);
          if (n === 0) break;
          offset += n;
          yield decoder.decode(chunk.subarray(0, n), { stream: true });
        }
      }
      const isOver = place === null || ["done", "failed", "review"].includes(place.state);
      if (!follow || isOver || signal?.aborted) return;
      await pause(LOOK_AGAIN_MS, woken.signal);
    }
  } finally {
    signal?.removeEventListener("abort", wake);
    unwatch();
    if (fd >= 0) closeSync(fd);
  }
}

/** -1: there is none. */
export function openLog(path: string): number {
  try {
    const fd = openSync(path, SAFE_OPEN);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    throw new VivError("CORRUPT", `${path} is not a regular file.`);
  } catch (error) {
    if (errno(error) === "ENOENT") return -1;
    if (errno(error) === "ELOOP") throw new VivError("CORRUPT", `${path} is a symbolic link.`);
    throw error;
  }
}
