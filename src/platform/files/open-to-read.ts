import { closeSync, constants, fstatSync } from "node:fs";
import { errno } from "../../base/errno.ts";
import { openSync } from "./beneath.ts";

const SAFE_OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const NO_FILE = ["ENOENT", "ELOOP", "EMLINK", "ENXIO", "ENODEV", "ENAMETOOLONG"];

/** Null when it is gone, or no plain file: a link is not followed, a pipe not waited for. */
export function openToRead(path: string): number | null {
  let fd: number;
  try {
    fd = openSync(path, SAFE_OPEN);
  } catch (error) {
    if (NO_FILE.includes(errno(error) ?? "")) return null;
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  return null;
}
