import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { inspect, type WorkspaceInfo } from "./inspect.ts";
import { idOfRecord } from "./record.ts";

export type { WorkspaceInfo };

/** Every workspace, also one whose folder, record or repository is gone, by id. */
export async function listWorkspaces(root: string): Promise<WorkspaceInfo[]> {
  const folder = resolve(root);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const ids = names.map((name) => (name.startsWith(".") ? idOfRecord(name) : name));
  const found: WorkspaceInfo[] = [];
  for (const id of [...new Set(ids)].filter((each) => each !== null).sort()) {
    const info = await infoOf(folder, id);
    if (info !== null) found.push(info);
  }
  return found;
}

async function infoOf(root: string, id: string): Promise<WorkspaceInfo | null> {
  try {
    return (await inspect(root, id))?.info ?? null;
  } catch {
    // Its record cannot be read. It is shown all the same; removing it says what is wrong.
    const path = join(root, id);
    const unknown = { dirty: true, ahead: 0, merged: false, bytes: 0 };
    return { id, kind: "dir", path, ...unknown, missing: !existsSync(path) };
  }
}
