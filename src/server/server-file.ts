import { join } from "node:path";
import * as z from "zod/mini";
import type { Machine } from "../base/clock.ts";
import { parseRecord } from "../base/json.ts";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { removeSync } from "../platform/files/beneath.ts";
import { readSmall } from "../platform/files/state-files.ts";

/** `.viv/server.json` of a run: the server that answers for it, for other commands. */
const shape = z.object({
  ...{ pid: z.int(), started: z.string(), boot: z.string(), host: z.string() },
  ...{ address: z.string(), since: z.string() },
});
export type ServerRecord = z.output<typeof shape>;

type Here = Pick<Machine, "clock" | "self" | "vitality">;

const fileIn = (run: string) => join(run, ".viv/server.json");

/** Null without one, and when its process is gone. */
export function readServer(run: string, machine: Pick<Machine, "vitality">): ServerRecord | null {
  const found = shape.safeParse(parseRecord(readSmall(fileIn(run), 4096) ?? ""));
  return found.success && machine.vitality(found.data) !== "gone" ? found.data : null;
}

/** Returns the record of another server of this run that still answers. */
export function writeServer(run: string, machine: Here, address: string): ServerRecord | null {
  const other = readServer(run, machine);
  const since = new Date(machine.clock.now()).toISOString();
  const record: ServerRecord = { ...machine.self(), address, since };
  write(run, record);
  return other;
}

/** Only our own: another server may have begun since. One that answered before us is found again. */
export function removeServer(run: string, machine: Here, before: ServerRecord | null): void {
  if (readServer(run, machine)?.pid !== machine.self().pid) return;
  if (before !== null && machine.vitality(before) !== "gone") write(run, before);
  else removeSync(fileIn(run));
}

function write(run: string, record: ServerRecord): void {
  replaceFileUnsynced(fileIn(run), `${JSON.stringify(record)}\n`);
}

/** A full disk has space again some day. */
export const TRY_AGAIN_MS = 15_000;

/**
 * Acts, and while it fails again every 15 s: `onFailed` is called with the first failure, `onDone` when it
 * has worked after all. Returns what ends that.
 */
export function untilDone(
  act: () => void,
  onFailed: (error: unknown) => void,
  onDone: () => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  const attempt = (failed: boolean) => {
    try {
      act();
    } catch (error) {
      if (!failed) onFailed(error);
      timer = setTimeout(attempt, TRY_AGAIN_MS, true).unref();
      return;
    }
    if (failed) onDone();
  };
  attempt(false);
  return () => clearTimeout(timer);
}
