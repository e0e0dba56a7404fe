import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder of its own for one test, removed when the test has finished. */
export function newFolder(prefix = "viv-test-", parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

const MOST_TRIES = 100;

/**
 * Also while processes still write there, such as those that were killed just now: `maxRetries` of rmSync
 * would not look again for what they have added.
 */
export function removeFolder(folder: string): void {
  for (let tries = 1; ; tries++) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY" || tries === MOST_TRIES)
        throw error;
    }
  }
}

/** As newFolder, but not in memory: for processes that race or die on a file system as people have it. */
export function onDisk(): string {
  return newFolder("viv-test-", process.env.VIV_TEST_DISK);
}
