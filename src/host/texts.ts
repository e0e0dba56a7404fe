import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { VivError } from "../model/errors.ts";

/** A text that somebody wrote for us: a template, a scenario. */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const why = code === "ENOENT" ? "is not there" : `cannot be read (${code})`;
    throw new VivError("INVALID", `${path} ${why}.`, { path }, { cause: error });
  }
}

/** Whole or not at all. False when something is there already. */
export function writeIfAbsent(path: string, text: string): boolean {
  const fresh = `${path}.${process.pid}.new`;
  writeFileSync(fresh, text, { mode: 0o600 });
  try {
    linkSync(fresh, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(fresh, { force: true });
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
  const folders = [here, dirname(here), join(here, "../dist")];
  return folders.find((folder) => existsSync(join(folder, "viv.cjs"))) ?? here;
}

const LONGEST_TEXT_BYTES = 16 * 1024 * 1024;

/**
 * A text that is read again and again by who has others to look after: what is no file (a pipe would keep him
 * waiting) or has no end in sight is not read. Throws what the system says.
 */
export function readFileText(path: string): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() && !stats.isDirectory()) throw new Error("it is no file");
    if (stats.size > LONGEST_TEXT_BYTES) throw new Error("it is longer than 16 MiB");
    return readFileSync(fd, "utf8"); // of a folder the system says that it is one
  } finally {
    closeSync(fd);
  }
}
