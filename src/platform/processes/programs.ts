import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** Where a program is: a path that can be run as it is, or a name in PATH; null when nowhere. */
export function findProgram(name: string, path: string | undefined): string | null {
  if (name.includes("/")) return isProgram(name) ? name : null;
  for (const folder of (path ?? "").split(delimiter)) {
    const file = join(folder, name);
    if (isAbsolute(folder) && isProgram(file)) return file;
  }
  return null;
}

export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // not there, or not for us to run
  }
}

export interface FoundProgram {
  path: string;
  /** The first line it says when it is asked; null when it does not answer that. */
  version: string | null;
}

const PATIENCE_MS = 10_000;

/** Where a program is and what version it says it has; null when it is not installed. */
export async function probeProgram(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<FoundProgram | null> {
  const path = findProgram(name, env.PATH);
  if (path === null) return null;
  const { execFile } = process.getBuiltinModule("node:child_process"); // slow to load
  const options = { timeout: PATIENCE_MS, killSignal: "SIGKILL", env: { ...env } } as const;
  return new Promise((resolve) => {
    const child = execFile(path, ["--version"], options, (error, stdout) => {
      const line = error ? "" : (stdout.split("\n").find((text) => text.trim() !== "") ?? "");
      resolve({ path, version: line.trim().slice(0, 80) || null });
    });
    child.stdin?.end();
  });
}
