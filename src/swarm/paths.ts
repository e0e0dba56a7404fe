import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { VivError } from "../base/errors.ts";

/** The absolute path a user means: `~` is expanded, and links are followed as far as it exists. */
export function runPath(given: string, home: string): string {
  return followLinks(resolve(expandHome(given, home)));
}

function expandHome(path: string, home: string): string {
  if (path === "~" || path.startsWith("~/")) return join(home, path.slice(1));
  if (path.startsWith("~")) {
    throw new VivError("INVALID", `cannot tell whose home ${path} means; write the path in full`);
  }
  return path;
}

function followLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    const parent = dirname(path);
    const code = (error as NodeJS.ErrnoException).code;
    if (parent === path || (code !== "ENOENT" && code !== "ENOTDIR")) throw error;
    return join(followLinks(parent), basename(path));
  }
}
