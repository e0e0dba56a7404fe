import { troubleOf } from "../../../base/errno.ts";
import { VivError } from "../../../base/errors.ts";
import { assertName } from "../../../base/names.ts";
import type { Proof } from "../../attempt.ts";
import type { Artifacts } from "../../store.ts";
import { namesIn, readRegular, replaceFile, syncFolder } from "../files/atomic.ts";
import { type FsRun, temporaryPath } from "../run.ts";

const MAX_BYTES = 64 * 1024 * 1024;

/** `artifacts/<name>`. Handlers write there too, so that anything may be found. */
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

/** A task id and what kind of file it is: so it may be longer than a name. */
function assertArtifact(name: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/.test(name)) return name;
  const problem = `artifact name ${JSON.stringify(name)} is not usable`;
  throw new VivError("INVALID", `${problem}; use at most 200 letters, digits and . _ -`);
}

const LIMIT = 1024 * 1024;

/** What the worker kept of `done_when`; null when there is none that could be read. */
export function readProof(run: FsRun, rawId: string): Proof | null {
  const id = assertName("task id", rawId);
  try {
    const file = readRegular(`${run.paths.artifacts}/${id}.proof.json`, LIMIT);
    return file && (JSON.parse(file.text) as Proof);
  } catch (error) {
    if (troubleOf(error) !== undefined) throw error;
    return null; // a handler may write there too: what is no proof proves nothing
  }
}
