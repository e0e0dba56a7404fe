import { rmSync } from "node:fs";
import type { ProcessIdentity } from "../base/clock.ts";
import { parseRecord } from "../base/json.ts";
import { isName } from "../base/names.ts";
import {
  isTemporary,
  replaceFileSynced,
  replaceFileUnsynced,
} from "../platform/files/atomic-write.ts";
import {
  acquireProcessLock,
  type StillOurs,
  type withFileLock,
} from "../platform/files/file-lock.ts";
import { appendLine, listed, readSmall } from "../platform/files/state-files.ts";
import { readEnd } from "../platform/files/texts.ts";
import { watchPaths } from "../platform/files/watch.ts";
import type { Receipt } from "./dance.ts";
import { danceFiles } from "./dance-files.ts";
import {
  FOLDERS,
  isMeant,
  json,
  MAX_DANCE,
  MAX_WARRANT,
  timeOf,
  type WardenFolder,
  wardenFolder,
} from "./folder.ts";
import { queueFiles, warrantReader } from "./queue-files.ts";
import { parseSeedRecord } from "./seed-dance.ts";

export type WardenFiles = ReturnType<typeof wardenFilesIn>;

export interface Pause {
  since: string;
  by: string;
  why: string;
}

const MAX_FINDINGS = 1024 * 1024;

export interface WardenState extends ProcessIdentity {
  state: "up" | "stopped";
  since: string;
  pool: number;
  timeouts_ms: number[];
}

/** The warden's state folder (SPEC §19): the queue, the dances, the receipts, and the pool's own. */
export function wardenFilesIn(folder: string, lock?: typeof withFileLock) {
  const state = wardenFolder(folder, lock);
  const { at, make, remove, explained, record } = state;
  const warrants = warrantReader(state);
  const dances = danceFiles(state, warrants);
  return {
    ...dances,
    ...queueFiles(state, warrants, dances),
    ...receiptFiles(state),
    folder,
    /** Locks the folder for the life of this process; null when another warden has it. */
    take: (): Promise<StillOurs | null> =>
      explained(async () => {
        make();
        return acquireProcessLock(at(".lock"));
      }),

    questionFile: (dog: string) => at("questions", `${dog}.txt`),
    answer: (nonce: string, text: string) =>
      explained(() => replaceFileUnsynced(at("answers", nonce), text)),
    answered: (nonce: string) =>
      isName(nonce) ? readSmall(at("answers", nonce), MAX_WARRANT) : null,

    forgetAnswers: (nonces: readonly string[]) => {
      for (const nonce of nonces) remove(at("answers", nonce));
    },

    recordFinding: (line: Record<string, unknown>) =>
      explained(() => appendLine(at("observed.jsonl"), `${JSON.stringify(line)}\n`)),
    /** Findings that have not ceased, the oldest first. */
    openFindings: () => {
      const open = new Map<string, Record<string, unknown>>();
      for (const line of readEnd(at("observed.jsonl"), MAX_FINDINGS).split("\n")) {
        const one = parseRecord(line); // null: cut off, or torn by a full disk
        if (one === null) continue;
        const key = JSON.stringify([one.rule, one.kind, one.target, one.home]);
        if (one.state === "found") open.set(key, one);
        else open.delete(key);
      }
      return [...open.values()];
    },

    paused: () => objectIn<Pause>(at("paused"), MAX_WARRANT),
    pause: (pause: Pause) =>
      explained(() => {
        make(); // a pause counts for a warden that is yet to start
        replaceFileSynced(at("paused"), json(pause));
        const about = { agent: pause.by, note: pause.why };
        record(Date.parse(pause.since), { room: "warden", event: "pool_paused", ...about });
      }),
    resume: (time: number, by = "viv") =>
      explained(() => {
        replaceFileSynced(at("resumed"), `${new Date(time).toISOString()}\n`);
        rmSync(at("paused"), { force: true });
        record(time, { room: "warden", event: "pool_resumed", agent: by });
      }),
    record,
    /** When it was last resumed: executions before that no longer count. */
    resumedAt: () => Date.parse(readSmall(at("resumed"), 100)?.trim() ?? "") || 0,

    warden: () => objectIn<WardenState>(at("warden.json"), MAX_WARRANT),
    writeWarden: (state: WardenState) =>
      explained(() => replaceFileUnsynced(at("warden.json"), json(state))),
    /** Calls back when something may have changed here; a hint. Returns its end. */
    watch: (act: () => void) => {
      make();
      const folders = ["", "warrants", "active", "withdrawals", "answers"].map((name) => at(name));
      return watchPaths(folders, act);
    },
  };
}

/** `completed/`, `epitaphs/` and the markers: the remains of a dance. */
function receiptFiles({ at, remove, explained }: WardenFolder) {
  return {
    writeReceipt: (receipt: Receipt) =>
      explained(() => replaceFileSynced(at("completed", `${receipt.dog}.json`), json(receipt))),
    receipt: (dog: string) => (isName(dog) ? receiptIn(at("completed", `${dog}.json`)) : null),
    /** The newest first; those that ended before `since` may be missing. */
    receipts: (since = 0) =>
      listed(at("completed"))
        .filter((name) => name.endsWith(".json") && isMeant(name))
        .map((name) => at("completed", name))
        .flatMap((path) => (timeOf(path) >= since && receiptIn(path)) || [])
        .sort((a, b) => (a.ended_at < b.ended_at ? 1 : -1)),
    /** A dog's, or a warrant's, that another pool has left. */
    seedRecord: (id: string) => {
      for (const name of listed(at("completed"))) {
        const dog = /^([^.].*)\.json$/.exec(name)?.[1];
        const path = at("completed", name);
        const value = dog === undefined ? null : objectIn<Record<string, unknown>>(path, MAX_DANCE);
        const record = dog && value && parseSeedRecord(value, dog, timeOf(path));
        if (record && (record.dog === id || record.warrant.id === id)) return record;
      }
      return null;
    },
    writeEpitaph: (warrant: string, text: string) =>
      explained(() => replaceFileUnsynced(at("epitaphs", `${warrant}.md`), text)),
    epitaph: (warrant: string) =>
      isName(warrant) ? readSmall(at("epitaphs", `${warrant}.md`), MAX_DANCE) : null,
    markDone: (dog: string, verdict: string) =>
      explained(() => replaceFileUnsynced(at("active", `${dog}.done`), `${verdict}\n`)),
    /** Dogs whose requesters are still to be notified: written before the dance is removed. */
    untold: () => listed(at("untold")).filter(isName),
    markUntold: (dog: string) => explained(() => replaceFileSynced(at("untold", dog), "")),
    forgetUntold: (dog: string) => remove(at("untold", dog)),
    /** Old markers, and files that crashes have left half written. */
    removeOldMarkers: (before: number) => {
      for (const place of FOLDERS) {
        for (const name of listed(at(place))) {
          const isMarker = place === "active" && name.endsWith(".done");
          const isOld = timeOf(at(place, name)) < before;
          if ((isMarker || isTemporary(name)) && isOld) remove(at(place, name));
        }
      }
    },
  };
}

function receiptIn(path: string): Receipt | null {
  const receipt = objectIn<Receipt>(path, MAX_DANCE);
  return typeof receipt?.dog === "string" && typeof receipt.verdict === "string" ? receipt : null;
}

function objectIn<T>(path: string, maxBytes: number): T | null {
  return parseRecord(readSmall(path, maxBytes)) as T | null;
}
