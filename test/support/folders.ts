import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder of its own for one test, removed when the test has finished. */
export function newFolder(prefix = "viv-test-", parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  // Processes of the test that were killed just now may still write there.
  const patience = { maxRetries: 20, retryDelay: 20 };
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, ...patience }));
  return folder;
}

/** As newFolder, but not in memory: for processes that race or die on a file system as people have it. */
export function onDisk(): string {
  return newFolder("viv-test-", process.env.VIV_TEST_DISK);
}
