import { closeSync, constants, existsSync, fstatSync, lstatSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { isVivError, VivError } from "../../base/errors.ts";
import { openSync } from "./beneath.ts";
import { readTrusted } from "./owned.ts";

/** A text from the user: a template, a scenario. Only from a file that no other user can change. */
export function readText(path: string): string {
  try {
    return readTrusted(path);
  } catch (error) {
    if (isVivError(error)) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    const why = code === "ENOENT" ? "is not there" : `cannot be read (${code})`;
    throw new VivError("INVALID", `${path} ${why}.`, { path }, { cause: error });
  }
}

export function sizeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The last bytes of a file as text; "" when there is none. */
export function readEnd(path: string, bytes: number): string {
  if (!existsSync(path)) return "";
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    const size = stats.isFile() ? stats.size : 0; // a pipe, a device, a folder has no end to read
    const buffer = Buffer.alloc(Math.min(bytes, size));
    const length = readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString("utf8", 0, length);
  } finally {
    closeSync(fd);
  }
}

/** Where our own programs lie: beside the code that runs, or, from the sources, in dist/. */
export function programsBeside(file: string): string {
  const here = dirname(file);
  const folders = [here, dirname(here), join(here, "../../dist")];
  return folders.find((folder) => existsSync(join(folder, "viv.cjs"))) ?? here;
}
