import { closeSync, constants, fstatSync, readSync, watch } from "node:fs";
import { VivError } from "../../../base/errors.ts";
import { assertName } from "../../../base/names.ts";
import { openSync } from "../../../platform/files/beneath.ts";
import { errno } from "../files/atomic.ts";
import { locate } from "../locate.ts";
import type { FsRun } from "../run.ts";

const CHUNK = 64 * 1024;
/** Behind the notifications, for logs on filesystems that have none. */
const LOOK_AGAIN_MS = 500;

/** `artifacts/<id>.log`, from its beginning; with `follow`, as it grows. */
export async function* readLog(
  run: FsRun,
  rawId: string,
  options: { follow?: boolean; signal?: AbortSignal },
): AsyncGenerator<string> {
  const id = assertName("task id", rawId);
  const path = `${run.paths.artifacts}/${id}.log`;
  const decoder = new TextDecoder();
  const bell = new Bell();
  const watcher = options.follow ? watch(run.paths.artifacts, () => bell.ring()) : undefined;
  let offset = 0;
  let fd = -1;
  try {
    for (;;) {
      // Look at the state first: what a task wrote before it ended is read before we stop.
      const place = options.follow ? locate(run, id) : null;
      if (fd < 0) fd = openLog(path);
      if (fd >= 0) {
        if (fstatSync(fd).size < offset) offset = 0; // a new attempt began the log anew
        const chunk = Buffer.allocUnsafe(CHUNK);
        for (;;) {
          const n = readSync(fd, chunk, 0, CHUNK, offset);
          if (n === 0) break;
          offset += n;
          yield decoder.decode(chunk.subarray(0, n), { stream: true });
        }
      }
      const ended =
        place === null ||
        place.state === "done" ||
        place.state === "failed" ||
        place.state === "review";
      if (!options.follow || ended || options.signal?.aborted) return;
      await bell.next(LOOK_AGAIN_MS, options.signal);
    }
  } finally {
    watcher?.close();
    if (fd >= 0) closeSync(fd);
  }
}

function openLog(path: string): number {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    throw new VivError("CORRUPT", `${path} is not a regular file.`);
  } catch (error) {
    if (errno(error) === "ENOENT") return -1;
    if (errno(error) === "ELOOP") throw new VivError("CORRUPT", `${path} is a symbolic link.`);
    throw error;
  }
}

/** Lets a loop wait for the next of any number of notifications, or for some time. */
class Bell {
  #wake: (() => void) | undefined;
  #hasRung = false;

  next(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        this.#wake = undefined;
        this.#hasRung = false;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done);
      this.#wake = done;
      if (this.#hasRung) done(); // while the log was being read
    });
  }

  ring(): void {
    this.#hasRung = true;
    this.#wake?.();
  }
}
