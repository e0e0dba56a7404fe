import { rmSync } from "node:fs";
import type { ProcessIdentity } from "../base/clock.ts";
import { isName } from "../base/names.ts";
import { replaceFileSynced, replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import {
  acquireProcessLock,
  type StillOurs,
  type withFileLock,
} from "../platform/files/file-lock.ts";
import { appendLine, readSmall } from "../platform/files/state-files.ts";
import { watchPaths } from "../platform/files/watch.ts";
import { type DanceFiles, danceFiles } from "./dance-files.ts";
import { json, MAX_WARRANT, parsed, wardenFolder } from "./folder.ts";
import { type QueueFiles, queueFiles } from "./queue-files.ts";
import { type ReceiptFiles, receiptFiles } from "./receipt-files.ts";
import { warrantReader } from "./warrant-reader.ts";

/** The warden's state folder (SPEC §19): the queue, the dances, the receipts, and the pool's own. */
export interface WardenFiles extends QueueFiles, DanceFiles, ReceiptFiles {
  readonly folder: string;
  /** Null when another warden has it. Who took it has it until it ends, or somebody removes it. */
  take(): Promise<StillOurs | null>;

  questionFile(dog: string): string;
  answer(nonce: string, text: string): void;
  answered(nonce: string): string | null;
  forgetAnswers(nonces: readonly string[]): void;

  observe(line: Record<string, unknown>): void;
  observedFile(): string;

  paused(): Pause | null;
  pause(pause: Pause): void;
  resume(at: number): void;
  /** When somebody last resumed it: executions before that no longer count. */
  resumedAt(): number;

  warden(): WardenState | null;
  writeWarden(state: WardenState): void;
  /** Calls back when something may have changed here; a hint. Returns what ends that. */
  watch(act: () => void): () => void;
}

export interface Pause {
  since: string;
  by: string;
  why: string;
}

export interface WardenState extends ProcessIdentity {
  state: "up" | "stopped";
  since: string;
  pool: number;
  timeouts_ms: number[];
}

export function wardenFilesIn(folder: string, lock?: typeof withFileLock): WardenFiles {
  const state = wardenFolder(folder, lock);
  const { at, make, remove, told } = state;
  const warrants = warrantReader(state);
  const dances = danceFiles(state, warrants);
  return {
    ...dances,
    ...queueFiles(state, warrants, dances),
    ...receiptFiles(state),
    folder,
    take: () =>
      told(async () => {
        make();
        return acquireProcessLock(at(".lock"));
      }),

    questionFile: (dog) => at("questions", `${dog}.txt`),
    answer: (nonce, text) => told(() => replaceFileUnsynced(at("answers", nonce), text)),
    answered: (nonce) => (isName(nonce) ? readSmall(at("answers", nonce), MAX_WARRANT) : null),

    forgetAnswers: (nonces) => {
      for (const nonce of nonces) remove(at("answers", nonce));
    },

    observe: (line) => told(() => appendLine(at("observed.jsonl"), `${JSON.stringify(line)}\n`)),
    observedFile: () => at("observed.jsonl"),

    paused: () => parsed<Pause>(readSmall(at("paused"), MAX_WARRANT)),
    pause: (pause) => told(() => replaceFileSynced(at("paused"), json(pause))),
    resume: (time) =>
      told(() => {
        replaceFileSynced(at("resumed"), `${new Date(time).toISOString()}\n`);
        rmSync(at("paused"), { force: true });
      }),
    resumedAt: () => Date.parse(readSmall(at("resumed"), 100)?.trim() ?? "") || 0,

    warden: () => parsed<WardenState>(readSmall(at("warden.json"), MAX_WARRANT)),
    writeWarden: (state) => told(() => replaceFileUnsynced(at("warden.json"), json(state))),
    watch: (act) => {
      make();
      const folders = ["", "warrants", "active", "withdrawals", "answers"].map((name) => at(name));
      return watchPaths(folders, act);
    },
  };
}
