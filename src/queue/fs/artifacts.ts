import { VivError } from "../../base/errors.ts";
import type { Artifacts } from "../store.ts";
import { namesIn, readRegular, replaceFile, syncFolder } from "./atomic.ts";
import { type FsRun, temporaryPath } from "./run.ts";

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
