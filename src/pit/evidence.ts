import { closeSync, constants, writeSync } from "node:fs";
import { join } from "node:path";
import { linkSync, mkdirSync, openSync, removeSync } from "../platform/files/beneath.ts";
import { type ArtifactFiles, artifactsIn } from "../work/artifacts.ts";
import { wasteFoot, wasteHead, wasteName } from "./waste.ts";

/**
 * In a pit every attempt has a trace of its own, `waste/<snake>-<ts>.log`. The latest one has a
 * second name, `record/artifacts/<food>.log`, as in any run; `record/artifacts/<food>.logs` maps
 * attempts to traces.
 */
export function pitArtifactsIn(artifacts: string, waste: string): ArtifactFiles {
  const files = artifactsIn(artifacts);
  return {
    ...files,
    beginLog: ({ id, attempt, worker }) => {
      const at = Date.now();
      const name = newTrace(waste, worker, at);
      const log = files.logOf(id);
      removeSync(log);
      linkSync(join(waste, name), log);
      append(join(artifacts, `${id}.logs`), `${attempt} ${worker} ${name}`);
      return { head: wasteHead({ id, attempt, worker, at: new Date(at).toISOString() }) };
    },
    endLog: (id, { outcome, seconds, note }) => {
      append(files.logOf(id), wasteFoot({ outcome, seconds, note }));
    },
  };
}

/** Never through a link in its place. */
function append(path: string, line: string): void {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const fd = openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600);
  try {
    writeSync(fd, `${line}\n`);
  } finally {
    closeSync(fd);
  }
}

/** Two attempts of one snake within a millisecond get a time each. */
function newTrace(waste: string, worker: string, at: number): string {
  for (let later = at; ; later++) {
    const name = wasteName(worker, later);
    try {
      closeSync(openSync(join(waste, name), "wx", 0o600));
      return name;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") mkdirSync(waste, { recursive: true, mode: 0o700 });
      else if (code !== "EEXIST") throw error;
    }
  }
}
