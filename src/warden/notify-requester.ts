import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../base/errors.ts";
import { parseRecord } from "../base/json.ts";
import { createFileSynced, replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { codeOf } from "../platform/files/state-files.ts";
import type { HeldNotice, Receipt } from "./dance.ts";
import { json } from "./folder.ts";
import { oneLine } from "./warrant.ts";

type Notice = Receipt | HeldNotice;
type Delivery = Receipt["told"][number];

/** Sends a notice by the user's program or to the user's address; returns what went wrong. */
export type SendNotice = (by: "hook" | "webhook", notice: Notice) => Promise<string | null>;

export interface NotifyOptions {
  /** The folder with a folder for each requester. */
  inbox: string;
  /** Those that are set. */
  ways?: readonly ("hook" | "webhook")[];
  send?: SendNotice;
}

/** Notifies the requester of a warrant by inbox, hook and webhook. Never rejects: errors are in the result. */
export function requesterNotifier(options: NotifyOptions): (notice: Notice) => Promise<Delivery[]> {
  const { inbox, ways = [], send = async () => null } = options;
  return (notice) =>
    Promise.all([
      delivery("inbox", async () => {
        writeToInbox(inbox, notice);
        return null;
      }),
      ...ways.map((by) => delivery(by, () => send(by, notice))),
    ]);
}

async function delivery(by: Delivery["by"], act: () => Promise<string | null>): Promise<Delivery> {
  try {
    const trouble = await act();
    return { by, trouble: trouble === null ? null : oneLine(trouble) };
  } catch (error) {
    return { by, trouble: oneLine(messageOf(error)) || "it failed without a message" };
  }
}

/** A requester's name may be anything; its folder's name is letters, digits and . _ - */
export function inboxName(requester: string): string {
  const safe = requester.replace(/[^A-Za-z0-9._-]+/g, "_").replace(/^\.+/, "_");
  return safe.slice(0, 100) || "unknown";
}

/**
 * A held notice replaces the one of the pause before: `ID.held.json`. A receipt replaces no other file: a
 * second one for a warrant has the dog in its name.
 */
function writeToInbox(inbox: string, notice: Notice): void {
  const { dog, warrant } = notice;
  const folder = join(inbox, inboxName(warrant.requester));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!("verdict" in notice)) {
    replaceFileUnsynced(join(folder, `${warrant.id}.held.json`), json(notice));
    return;
  }
  for (const name of [warrant.id, `${warrant.id}-${dog}`]) {
    const path = join(folder, `${name}.json`);
    try {
      createFileSynced(path, json(notice));
      return;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      if (dogIn(path) === dog) return;
    }
  }
  throw new Error(`${folder} has another ${warrant.id}.json`);
}

function dogIn(path: string): unknown {
  try {
    return parseRecord(readFileSync(path, "utf8"))?.dog;
  } catch {
    return null; // it is not ours
  }
}
