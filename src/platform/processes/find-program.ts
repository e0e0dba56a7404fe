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
