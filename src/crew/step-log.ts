import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
} from "node:fs";
import { join } from "node:path";
import { appendLine, codeOf, explained, failure } from "../platform/files/state-files.ts";
import type { CrewLine } from "./status.ts";

const MAX_BYTES = 8 * 1024 * 1024;
const TO_READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** `_steps.jsonl` in the state folder; when it is large it becomes `_steps.1.jsonl` and begins anew. */
export function stepLogIn(folder: string) {
  const path = join(folder, "_steps.jsonl");
  const older = join(folder, "_steps.1.jsonl");
  return {
    append: (line: CrewLine) =>
      explained(path, () => {
        if (sizeOf(path) > MAX_BYTES) renameSync(path, older);
        appendLine(path, `${JSON.stringify(line)}\n`);
      }),
    lastLines: (count: number) => {
      const lines = lastLinesOf(path, count);
      const missing = count - lines.length;
      return missing > 0 ? [...lastLinesOf(older, missing), ...lines] : lines;
    },
    linesFrom: (place: number | null) => {
      const size = sizeOf(path);
      // Smaller than it was: it was begun anew.
      return place === null
        ? { lines: [], place: size }
        : linesFrom(path, place <= size ? place : 0);
    },
  };
}

/** 0 for anything but a plain file. */
function sizeOf(path: string): number {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true ? stats.size : 0;
}

/** From the end: a feed asks for sixty lines of what may be megabytes. */
function lastLinesOf(path: string, count: number): CrewLine[] {
  let fd: number;
  try {
    fd = openSync(path, TO_READ);
  } catch (error) {
    if (["ENOENT", "ELOOP", "ENXIO"].includes(codeOf(error) ?? "")) return [];
    throw failure(path, error);
  }
  try {
    const stats = fstatSync(fd);
    const size = stats.isFile() ? stats.size : 0;
    let length = Math.min(size, 64 * 1024);
    for (;;) {
      const buffer = Buffer.alloc(length);
      readSync(fd, buffer, 0, length, size - length);
      const lines = buffer
        .toString("utf8")
        .split("\n")
        .slice(length < size ? 1 : 0, -1);
      if (lines.length >= count || length === size) return lines.slice(-count).flatMap(parsed);
      length = Math.min(size, 4 * length);
    }
  } finally {
    closeSync(fd);
  }
}

/** Up to the last whole line. */
function linesFrom(path: string, place: number): { lines: CrewLine[]; place: number } {
  const length = sizeOf(path) - place;
  if (length <= 0) return { lines: [], place };
  const fd = openSync(path, TO_READ);
  try {
    const buffer = Buffer.alloc(length);
    const whole = buffer.subarray(0, readSync(fd, buffer, 0, length, place)).lastIndexOf(10) + 1;
    const lines = buffer.subarray(0, whole).toString("utf8").split("\n").slice(0, -1);
    return { lines: lines.flatMap(parsed), place: place + whole };
  } finally {
    closeSync(fd);
  }
}

function parsed(line: string): CrewLine[] {
  try {
    return [JSON.parse(line) as CrewLine];
  } catch {
    return []; // torn by a full disk
  }
}
