import { isVivError } from "../../base/errors.ts";
import { openRun } from "../open-run.ts";

/** Of a long queue the first tasks tell enough. */
const MOST = 1000;

/** The types of tasks that are not done; null: there is no run at `path`. */
export async function typesIn(path: string): Promise<ReadonlySet<string> | null> {
  try {
    const store = await openRun(path, { readOnly: true });
    const types = new Set<string>();
    for await (const { type } of store.list({ states: ["pending", "waiting"], limit: MOST })) {
      if (type !== null) types.add(type);
    }
    await store.close();
    return types;
  } catch (error) {
    if (isVivError(error)) return null; // not there, or not readable: `viv doctor` is for that
    throw error;
  }
}
