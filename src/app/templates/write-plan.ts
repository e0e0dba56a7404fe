import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { VivError } from "../../base/errors.ts";
import { parseRecord } from "../../base/json.ts";
import { createFileSynced, createIfAbsentUnsynced } from "../../platform/files/atomic-write.ts";
import { readTrusted } from "../../platform/files/owned.ts";
import { excludeFromGit } from "../../platform/git/exclude.ts";
import type { Begun, TemplateFile } from "./template.ts";

/**
 * Files are created, never replaced. The plan is written down first and removed last, so that a second
 * call finishes what a killed one has begun, whatever was answered then.
 */
const JOURNAL = ".viv-init.json";

/** What a killed call has left to do here; null: nothing. */
export function begunIn(folder: string): Begun | null {
  const path = join(folder, JOURNAL);
  if (!existsSync(path)) return null;
  const begun = parseRecord(readTrusted(path));
  if (Array.isArray(begun?.files)) return begun as unknown as Begun;
  const message = `${path} is no plan of viv init; remove it, and try again.`;
  throw new VivError("INVALID", message);
}

export async function writePlan(folder: string, plan: Begun): Promise<void> {
  refuseOthers(folder, plan.files);
  const journal = join(folder, JOURNAL);
  const temporary = `${journal}.new`; // one name: the next call removes what a killed one left
  if (!existsSync(journal)) createFileSynced(journal, JSON.stringify(plan), { temporary });
  for (const { path, text, isProgram } of plan.files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    createIfAbsentUnsynced(file, text, { mode: isProgram ? 0o777 : 0o666, temporary });
  }
  refuseOthers(folder, plan.files); // one may have come meanwhile
  for (const name of plan.ignore) await excludeFromGit(join(folder, name));
  rmSync(journal);
}

/** The user's files are never touched: with one in the way nothing is written. */
function refuseOthers(folder: string, files: readonly TemplateFile[]): void {
  const others = files
    .map(({ path }) => path)
    .filter((path, i) => {
      const file = join(folder, path);
      const stats = lstatSync(file, { throwIfNoEntry: false });
      if (stats === undefined) return false;
      return !stats.isFile() || readFileSync(file, "utf8") !== files[i]?.text;
    });
  if (others.length === 0) return;
  const [are, them] = others.length === 1 ? ["is", "it"] : ["are", "them"];
  const message = `${others.join(", ")} ${are} there already, with other content, and ${are} kept; move ${them} away, or make the template in another folder.`;
  throw new VivError("WRONG_STATE", message, { files: others });
}
