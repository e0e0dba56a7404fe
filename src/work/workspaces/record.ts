import { closeSync, constants, readFileSync } from "node:fs";
import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import { isListedName } from "../../base/names.ts";
import { replaceFileSynced } from "../../platform/files/atomic-write.ts";
import { mkdirSync, openSync, removeSync } from "../../platform/files/beneath.ts";

/** What a workspace was made from. It is written before the workspace is made. */
export type WorkspaceRecord =
  | { kind: "dir"; created_at: string }
  | {
      kind: "worktree";
      repository: string;
      branch: string;
      /** The commit. */
      base: string;
      created_at: string;
    };

/**
 * Beside the workspace, where no sandbox shows it to the task. The dot keeps it apart from the
 * workspace of a task that is called `<id>.json`.
 */
export function recordPath(root: string, id: string): string {
  return join(root, `.${id}.json`);
}

export function workspacePath(root: string, id: string): string {
  if (isListedName(id)) return join(root, id);
  throw new VivError("INVALID", `${JSON.stringify(id)} cannot be the name of a workspace.`);
}

/** The id of a record's file name, or null for other names. */
export function idOfRecord(name: string): string | null {
  const id = name.match(/^\.([^.].*)\.json$/s)?.[1];
  return id === undefined ? null : id;
}

export function readRecord(root: string, id: string): WorkspaceRecord | null {
  const path = recordPath(root, id);
  let text: string;
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      text = readFileSync(fd, "utf8");
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const record = parse(text);
  if (record !== null) return record;
  throw new VivError("CORRUPT", `${path} cannot be read; move it away and try again.`, { path });
}

function parse(text: string): WorkspaceRecord | null {
  try {
    const record = JSON.parse(text);
    const keys = record.kind === "dir" ? [] : ["repository", "branch", "base"];
    const isWhole = ["kind", "created_at", ...keys].every((key) => typeof record[key] === "string");
    return isWhole && (record.kind === "dir" || record.kind === "worktree") ? record : null;
  } catch {
    return null; // not JSON, or not an object
  }
}

export function writeRecord(root: string, id: string, record: WorkspaceRecord): void {
  const temporary = join(root, `.new~${id}.${process.pid}`);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const text = `${JSON.stringify(record, null, 2)}\n`;
  replaceFileSynced(recordPath(root, id), text, { temporary });
}

export function removeRecord(root: string, id: string): void {
  removeSync(recordPath(root, id));
}
