import { join } from "node:path";
import * as z from "zod/mini";
import type { Machine } from "../base/clock.ts";
import { parseRecord } from "../base/json.ts";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { removeSync } from "../platform/files/beneath.ts";
import { readSmall } from "../platform/files/state-files.ts";

/** `.viv/server.json` of a run: the server that answers for it, for other commands. */
const server = z.object({
  ...{ pid: z.int(), started: z.string(), boot: z.string(), host: z.string() },
  ...{ address: z.string(), since: z.string() },
});
/** `earlier`: servers that answered before it, the latest first. */
const shape = z.extend(server, { earlier: z.optional(z.array(server)) });
export type ServerRecord = z.output<typeof server>;

const MOST_EARLIER = 10;
const LIMIT = 16_384;

type Here = Pick<Machine, "clock" | "self" | "vitality">;

const fileIn = (run: string) => join(run, ".viv/server.json");

/** Null without one, and when its process is gone. */
export function readServer(run: string, machine: Pick<Machine, "vitality">): ServerRecord | null {
  return serversOf(run, machine)[0] ?? null;
}

/** Returns the record of another server of this run that still answers. */
export function writeServer(run: string, machine: Here, address: string): ServerRecord | null {
  const others = serversOf(run, machine);
  const since = new Date(machine.clock.now()).toISOString();
  write(run, [{ ...machine.self(), address, since }, ...others]);
  return others[0] ?? null;
}

/** Only our own: another server may have begun since. One that answered before us is found again. */
export function removeServer(run: string, machine: Here): void {
  const [own, ...earlier] = serversOf(run, machine);
  if (own?.pid === machine.self().pid) write(run, earlier);
}

/** Those that still answer. */
function serversOf(run: string, machine: Pick<Machine, "vitality">): ServerRecord[] {
  const found = shape.safeParse(parseRecord(readSmall(fileIn(run), LIMIT) ?? ""));
  if (!found.success) return [];
  const { earlier = [], ...last } = found.data;
  return [last, ...earlier].filter((one) => machine.vitality(one) !== "gone");
}

function write(run: string, [last, ...others]: ServerRecord[]): void {
  const earlier = others.slice(0, MOST_EARLIER);
  if (last === undefined) removeSync(fileIn(run));
  else replaceFileUnsynced(fileIn(run), `${JSON.stringify({ ...last, earlier })}\n`);
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
