import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
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
    const inspection = await inspect(folder, id);
    if (inspection !== null) found.push(inspection.info);
  }
  return found;
}
