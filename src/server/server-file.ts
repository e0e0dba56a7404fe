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

const fileIn = (run: string) => join(run, ".viv/server.json");

/** Null without one, and when its process is gone. */
export function readServer(run: string, machine: Pick<Machine, "vitality">): ServerRecord | null {
  const found = shape.safeParse(parseRecord(readSmall(fileIn(run), 4096) ?? ""));
  return found.success && machine.vitality(found.data) !== "gone" ? found.data : null;
}

export function writeServer(run: string, machine: Machine, address: string): void {
  const since = new Date(machine.clock.now()).toISOString();
  const record: ServerRecord = { ...machine.self(), address, since };
  replaceFileUnsynced(fileIn(run), `${JSON.stringify(record)}\n`);
}

/** Only our own: another server may have begun since. */
export function removeServer(run: string, machine: Machine): void {
  if (readServer(run, machine)?.pid === machine.self().pid) removeSync(fileIn(run));
}
