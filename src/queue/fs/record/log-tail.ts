import { closeSync, fstatSync, readSync } from "node:fs";
import { assertName } from "../../../base/names.ts";
import type { LogTail } from "../../store.ts";
import { statIfThere } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { openLog } from "./artifact-files.ts";

const CHUNK = 64 * 1024;
const NEWLINE = 0x0a;

/** The log of a task, from about its last `bytes` on. It may come later, begin anew, or be another file. */
export function tailLog(run: FsRun, rawId: string, bytes: number): LogTail {
  const path = `${run.paths.artifacts}/${assertName("task id", rawId)}.log`;
  const chunk = Buffer.allocUnsafe(CHUNK);
  let decoder = new TextDecoder();
  let fd = -1;
  let inode = 0;
  let offset = 0;
  let isFirst = true;

  const close = () => {
    if (fd >= 0) closeSync(fd);
    fd = -1;
  };
  const reopen = () => {
    close();
    decoder = new TextDecoder();
    fd = openLog(path);
    if (fd < 0) return;
    const { ino, size } = fstatSync(fd);
    inode = ino;
    offset = isFirst ? Math.max(0, size - bytes) : 0;
  };
  const readOn = () => {
    const length = readSync(fd, chunk, 0, CHUNK, offset);
    const from = isFirst && offset > 0 ? afterLine(chunk, length) : 0;
    if (length > 0) isFirst = false;
    offset += length;
    return length === 0 ? null : decoder.decode(chunk.subarray(from, length), { stream: true });
  };
  return {
    read() {
      const stats = statIfThere(path);
      if (fd < 0 || (stats !== undefined && stats.ino !== inode)) reopen();
      if (fd < 0) {
        isFirst = false; // what comes now is new
        return null;
      }
      if (fstatSync(fd).size < offset) {
        offset = 0; // a new attempt began the log anew
        decoder = new TextDecoder();
      }
      return readOn();
    },
    close,
  };
}

/** Where a whole line begins; in a log without lines, where a whole character does. */
function afterLine(chunk: Buffer, length: number): number {
  const end = chunk.subarray(0, length).indexOf(NEWLINE);
  if (end >= 0) return end + 1;
  let from = 0;
  while (((chunk[from] ?? 0) & 0xc0) === 0x80 && from < length) from++;
  return from;
}
