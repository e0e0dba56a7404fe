import { execFile } from "node:child_process";
import { findProgram } from "./find-program.ts";

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
  const options = { timeout: PATIENCE_MS, killSignal: "SIGKILL", env: { ...env } } as const;
  return new Promise((resolve) => {
    const child = execFile(path, ["--version"], options, (error, stdout) => {
      const line = error ? "" : (stdout.split("\n").find((text) => text.trim() !== "") ?? "");
      resolve({ path, version: line.trim().slice(0, 80) || null });
    });
    child.stdin?.end();
  });
}
