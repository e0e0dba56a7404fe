import { constants, readFileSync } from "node:fs";
import { errno } from "../../base/errno.ts";
import { VivError } from "../../base/errors.ts";
import { withFile } from "./beneath.ts";

/**
 * A JSON file of a known form; null when there is none. Anything else in its place, a link or a folder
 * too, is CORRUPT. `helps`: the end of that message.
 */
export function readJsonFile<T>(
  path: string,
  schema: { parse(value: unknown): T },
  helps = "repair it with: viv doctor --fix",
): T | null {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    return schema.parse(JSON.parse(withFile(path, flags, (fd) => readFileSync(fd, "utf8"))));
  } catch (cause) {
    const code = errno(cause);
    if (code === "ENOENT") return null;
    if (code !== undefined && !["ELOOP", "EISDIR"].includes(code)) throw cause; // the machine's
    throw new VivError("CORRUPT", `${path} cannot be read; ${helps}.`, { path }, { cause });
  }
}
