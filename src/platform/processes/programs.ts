import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";
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

/** Of a script: why the program in its #! line cannot run it; null when it can, or there is none. */
export function whyNoInterpreter(file: string, path: string | undefined): string | null {
  const [, line] = /^#![ \t]*([^\n]*)\n/.exec(beginning(file)) ?? [];
  const [program = "", ...words] = line?.split(/[ \t]+/) ?? [];
  if (program === "") return null;
  const isEnv = /\/env$/.test(program) && /^[\w.+-]+\r?$/.test(words[0] ?? "-");
  const wanted = isEnv && !words[0]?.startsWith("-") ? [program, words[0] ?? ""] : [program];
  const missing = wanted.find((one) => findProgram(one, path) === null);
  if (missing === undefined) return null;
  const shown = missing.replace("\r", "\\r");
  const remedy = shown === missing ? "correct it" : "its lines end as on Windows (CR LF)";
  return `${file} has ${shown} in its #! line, which is no program here; ${remedy}`;
}

function beginning(file: string): string {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch {
    return ""; // it may be run, and not be read
  }
  try {
    const start = Buffer.alloc(256);
    return start.toString("latin1", 0, readSync(fd, start));
  } finally {
    closeSync(fd);
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
