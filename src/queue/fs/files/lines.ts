import { closeSync, constants, fstatSync, readSync, writeSync } from "node:fs";
import { openSync } from "../../../platform/files/beneath.ts";
import { isDerived } from "./aside.ts";
import { closeAfter, failedWith, openOwn, SAFE_OPEN, writeFully } from "./atomic.ts";

/** Files of lines that several processes append to: the ledger, lanes, notes. */

/**
 * Opens a file of lines for appending. If its last line has no end (a crash, a full disk), that
 * line is ended first, so that it does not swallow the next one.
 */
export function openLines(path: string): number {
  const fd = openOwn(path, constants.O_APPEND);
  try {
    const { size } = fstatSync(fd);
    if (size > 0 && !endsLine(path, size)) writeSync(fd, "\n");
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function endsLine(path: string, size: number): boolean {
  const fd = openSync(path, SAFE_OPEN);
  const last = Buffer.alloc(1);
  return closeAfter(fd, () => readSync(fd, last, 0, 1, size - 1) === 0 || last[0] === 10);
}

export function appendLine(path: string, line: string): void {
  const fd = openLines(path);
  closeAfter(fd, () => writeFully(fd, `${line}\n`));
}

/** Opens a regular file for reading; -1 when it is none, or not there, or not for us to read. */
export function openToRead(path: string): number {
  let fd: number;
  try {
    fd = openSync(path, SAFE_OPEN);
  } catch (error) {
    if (failedWith(error, "ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENODEV")) return -1;
    if (failedWith(error, "EACCES", "EPERM") && isDerived(path)) return -1;
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  return -1;
}
