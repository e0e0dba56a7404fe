import { unlessRefused } from "../../base/errors.ts";
import { openRun } from "../open-run.ts";

/** Of a long queue the first tasks tell enough. */
const MOST = 1000;

/** The types of tasks that are not done; null: there is no run at `path`, or none that can be read. */
export function typesIn(path: string): Promise<ReadonlySet<string> | null> {
  return unlessRefused(async () => {
    const store = await openRun(path, { readOnly: true });
    try {
      const types = new Set<string>();
      for await (const { type } of store.list({ states: ["pending", "waiting"], limit: MOST })) {
        if (type !== null) types.add(type);
      }
      return types;
    } finally {
      await store.close();
    }
  });
}
