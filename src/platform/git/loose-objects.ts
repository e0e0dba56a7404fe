import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { deflateSync } from "node:zlib";
import { ifThere } from "../../base/errno.ts";

export interface GitObject {
  kind: "commit" | "tree" | "blob";
  bytes: Buffer;
}

/** With the name that its bytes give it. */
export interface NamedObject extends GitObject {
  oid: string;
}

/**
 * Puts objects into a repository as files of their own, as git would. Each gets its name only when
 * its bytes are on the disk, so that a crash leaves nothing half written under a name; what it
 * leaves (`tmp_obj_…`) is cleared away by git's gc.
 */
export function writeLoose(commonDir: string, objects: readonly NamedObject[]): void {
  const made: { scratch: string; path: string; fd: number }[] = [];
  try {
    for (const one of objects) {
      const path = join(commonDir, "objects", one.oid.slice(0, 2), one.oid.slice(2));
      if (isThere(path)) continue;
      mkdirSync(dirname(path), { recursive: true });
      const scratch = join(dirname(path), `tmp_obj_${randomBytes(6).toString("hex")}`);
      const fd = openSync(scratch, "wx", 0o444);
      made.push({ scratch, path, fd });
      const head = Buffer.from(`${one.kind} ${one.bytes.length}\0`);
      writeFileSync(fd, deflateSync(Buffer.concat([head, one.bytes]), { level: 1 }));
    }
    // Only when all are written: then the disk is waited for about once.
    for (const { fd } of made) fsyncSync(fd);
    // The commit comes last: a reader that finds it finds its objects.
    for (const { scratch, path } of made) renameSync(scratch, path);
  } finally {
    for (const { fd, scratch } of made) {
      closeSync(fd);
      rmSync(scratch, { force: true });
    }
  }
}

/** If so, its time is renewed: git's gc removes old objects that are not referenced yet. */
function isThere(path: string): boolean {
  const now = new Date();
  return ifThere(() => utimesSync(path, now, now)) !== null;
}

/** Settings with which an object is more than its file: then only git can write it. */
export function areFilesEnough(settings: ReadonlyMap<string, string>): boolean {
  const shared = settings.get("core.sharedrepository")?.toLowerCase() ?? "false";
  return (
    ["false", "umask", "no", "off", "0"].includes(shared) &&
    !settings.has("extensions.compatobjectformat")
  );
}
