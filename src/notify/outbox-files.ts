import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { ifThere, unlessTaken } from "../base/errno.ts";
import { isRecord, parseRecord } from "../base/json.ts";
import {
  createFileSynced,
  isTemporary,
  replaceFileSynced,
  replaceFileUnsynced,
  syncFolder,
} from "../platform/files/atomic-write.ts";
import { mkdirSync, removeSync, renameSync } from "../platform/files/beneath.ts";
import { listed, readSmall } from "../platform/files/state-files.ts";
import { MESSAGE_STATES, type Message, type MessageState, parseMessage } from "./message.ts";

/** A receipt of the warden has whole screens in it. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_STATE_BYTES = 16 * 1024 * 1024;
/** Final states: a message of the same name is never sent again. */
const FINAL = ["sent", "failed", "unsure"] as const;

export type OutboxFiles = ReturnType<typeof outboxIn>;

/**
 * The files of an outbox: `<state>/<id>.json`, one for each message. A message is in one folder, and
 * goes to the next by one rename.
 *   .position.json   what was entered: see intake.ts; written under .intake.lock
 *   .pace.json       the last requests to each target; written under .sender.lock
 */
export function outboxIn(folder: string) {
  const dirOf = (state: MessageState) => join(folder, state);
  const pathOf = (state: MessageState, id: string) => join(folder, state, `${id}.json`);
  /** In a place that is there: a run that was removed or moved away is not made anew. */
  const make = () => {
    for (const path of [folder, ...MESSAGE_STATES.map(dirOf)]) {
      unlessTaken(() => mkdirSync(path, { mode: 0o700 }));
    }
  };
  const ids = (state: MessageState) =>
    listed(dirOf(state))
      .filter((name) => name.endsWith(".json") && !isTemporary(name))
      .map((name) => name.slice(0, -".json".length))
      .filter((id) => id !== "" && !id.startsWith("."))
      .sort();
  const read = (state: MessageState, id: string): Message | null => {
    const text = readSmall(pathOf(state, id), MAX_BYTES);
    return text === null ? null : parseMessage(text, id);
  };
  const isIn = (states: readonly MessageState[], id: string) =>
    states.some((state) => existsSync(pathOf(state, id)));
  const move = (id: string, from: MessageState, to: MessageState) => {
    renameSync(pathOf(from, id), pathOf(to, id));
    syncFolder(dirOf(to));
    syncFolder(dirOf(from));
  };
  const readRecord = (name: "position" | "pace") =>
    parseRecord(readSmall(join(folder, `.${name}.json`), MAX_STATE_BYTES));
  const writePace = (value: unknown) =>
    replaceFileUnsynced(join(folder, ".pace.json"), jsonOf(value));
  const jsonOf = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  return {
    folder,
    make,
    ids,
    read,
    isThere: () => existsSync(folder),
    locks: { intake: join(folder, ".intake.lock"), sender: join(folder, ".sender.lock") },
    /** Those that can be read, the oldest first. */
    messages: (state: MessageState) =>
      ids(state)
        .flatMap((id) => read(state, id) ?? [])
        .sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1)),
    isFinal: (id: string) => isIn(FINAL, id),
    /** False when it is there, in whichever state. */
    enter: (message: Message): boolean => {
      if (isIn(MESSAGE_STATES, message.id)) return false;
      return unlessTaken(() => createFileSynced(pathOf("new", message.id), jsonOf(message)));
    },
    /** From here on it may have arrived. */
    begin: (id: string) => move(id, "new", "sending"),
    /** Notes what became of it, then moves it there. Until the note it is unsure. */
    settle: (message: Message) => {
      const { end } = message;
      if (end === undefined) return;
      replaceFileSynced(pathOf("sending", message.id), jsonOf(message));
      move(message.id, "sending", end.state);
    },
    move,
    /** In its place; nothing depends on it. */
    rewrite: (state: MessageState, message: Message) =>
      replaceFileSynced(pathOf(state, message.id), jsonOf(message)),
    remove: (state: MessageState, id: string) => removeSync(pathOf(state, id)),
    writtenAt: (state: MessageState, id: string) =>
      ifThere(() => statSync(pathOf(state, id)).mtimeMs) ?? 0,
    /** Null when it is not there, or torn. */
    readRecord,
    writePosition: (value: unknown) =>
      replaceFileSynced(join(folder, ".position.json"), jsonOf(value)),
    /** The next pass tries the target at once. */
    forgetPause: (target: string) => {
      const pace = readRecord("pace") ?? {};
      if (isRecord(pace[target])) {
        delete pace[target].until;
        delete pace[target].lost;
      }
      writePace(pace);
    },
    writePace,
  };
}

function timeOf({ entered, items }: Message): string {
  return `${items[0]?.at ?? entered} ${entered}`;
}
