// One temporary folder for the whole run. Nothing in it is removed before the end: on ext4,
// creating files right after a mass deletion is several times slower, and would be measured.

import { execFileSync } from "node:child_process";
import { mkdtempSync, renameSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FILESYSTEMS = { 61267: "ext4", 2435016766: "btrfs", 1481003842: "xfs", 16914836: "tmpfs" };

export function makeWorkspace() {
  const root = mkdtempSync(join(tmpdir(), "viv-bench-"));
  let serial = 0;
  let removed = false;
  const remove = () => {
    if (removed) return;
    removed = true;
    console.error("Removing the temporary files ...");
    const trash = `${root}.trash`;
    renameSync(root, trash);
    execFileSync("rm", ["-rf", trash]);
  };
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => {
      remove();
      process.exit(130);
    });
  }
  const { type } = statfsSync(root);
  return {
    filesystem: FILESYSTEMS[type] ?? `0x${type.toString(16)}`,
    /** A path nobody has used. */
    fresh(name) {
      return join(root, `${String(++serial).padStart(4, "0")}-${name}`);
    },
    /** What was written for the next measurement must not be written back during it. */
    settle() {
      execFileSync("sync", ["-f", root]);
    },
    remove,
  };
}
