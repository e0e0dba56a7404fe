import { lstatSync, readdirSync, rmdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { ifThere } from "../../base/errno.ts";

/** Removes a file or a folder with all that is in it. A link is removed, never followed. */
export function removeTree(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory()) {
    ifThere(() => unlinkSync(path));
    return;
  }
  for (const name of readdirSync(path)) removeTree(join(path, name));
  ifThere(() => rmdirSync(path));
}

/** So is a link that leads nowhere. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
