import { join } from "node:path";
import { openRun } from "../../src/main.ts";
import type { Store } from "../../src/queue/store.ts";
import { newFolder } from "./folders.ts";

/** A new run, open. */
export async function newRun(folder = newFolder()): Promise<{ path: string; store: Store }> {
  const path = join(folder, "run");
  return { path, store: await openRun(path, { create: true, durability: "fast" }) };
}
