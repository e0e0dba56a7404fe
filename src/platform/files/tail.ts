import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { errno } from "../../base/errno.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** The end of a file, as text; empty when it is no regular file, or not there, or not for us to read. */
export function tailOf(path: string, bytes: number): string {
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (NOT_READABLE.includes(errno(error) ?? "")) return "";
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    const size = stats.isFile() ? stats.size : 0;
    const buffer = Buffer.alloc(Math.min(size, bytes));
    const read = readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    const text = buffer.subarray(0, read).toString("utf8");
    // The first line is only a part of one.
    return buffer.length < size ? text.slice(text.indexOf("\n") + 1) : text;
  } finally {
    closeSync(fd);
  }
}

const NOT_READABLE = ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENODEV", "EACCES", "EPERM"];
