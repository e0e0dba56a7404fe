import type { Machine } from "../base/clock.ts";
import { PIT_OFFER } from "../pit/fs/offer.ts";
import { localMachine } from "../platform/processes/machine.ts";
import { killTree } from "../platform/processes/process-tree.ts";
import { fsStore } from "../queue/fs/fs-store.ts";
import { type OpenOptions, openFsRun } from "../queue/fs/open-fs-run.ts";
import type { Store } from "../queue/store.ts";

/** Opens the run at `path`. Close it when done: that brings status.json up to date. */
export async function openRun(
  path: string,
  options: OpenOptions & { machine?: Machine } = {},
): Promise<Store> {
  const { machine = { ...localMachine(), leftovers: { end: killTree } }, ...rest } = options;
  return fsStore(await openFsRun(path, machine, rest, [PIT_OFFER]));
}
