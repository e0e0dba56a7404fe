import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  utimesSync,
  watch,
} from "node:fs";
import { join } from "node:path";
import type { ProcessIdentity } from "../model/clock.ts";
import { type Dance, isUndecided, parseDance, type Receipt } from "../model/dance.ts";
import { isVivError } from "../model/errors.ts";
import { isName } from "../model/names.ts";
import { OpenTargets, parseWarrant, type Warrant } from "../model/warrant.ts";
import {
  codeOf,
  explained,
  listed,
  readSmall,
  type StillOurs,
  takeForLife,
  withFileLock,
} from "./state-files.ts";
import { isHalfWritten, publish, replace } from "./whole-files.ts";

/** The warden's state folder (SPEC §19): the queue, the dances, the receipts. */
export interface WardenFiles {
  readonly folder: string;
  /** Null when another warden has it. Who took it has it until it ends, or somebody removes it. */
  take(): StillOurs | null;

  /** The queue, the oldest first, and what lies in it that is no warrant. */
  queued(): { warrants: Warrant[]; bad: BadWarrant[] };
  /** Files it, unless its target has an open warrant: then the id of that one. */
  file(warrant: Warrant): { filed: boolean; id: string };
  /** Out of the queue, for good. */
  reject(name: string, why: string): void;
  /** A crash came between a dance and the end of its waiting. */
  dropQueued(id: string): void;
  /** False when it is not in the queue. */
  withdrawQueued(id: string): boolean;
  withdrawn(id: string): Warrant | null;

  dances(): Dance[];
  /** Files in active/ that should be dances and cannot be read. */
  badDances(): string[];
  /** From the queue to a dog. False when it is no longer in the queue. */
  begin(dance: Dance): boolean;
  save(dance: Dance): void;
  /** Saves one that is to execute now. False, and nothing, when it was withdrawn or called back. */
  saveForExecution(dance: Dance): boolean;
  /** The warrant waits again. */
  giveBack(dance: Dance): void;
  /** Its dance is over, and everything that comes of it is written. */
  remove(dog: string): void;
  newDog(now: number): string;

  writeReceipt(receipt: Receipt): void;
  receipt(dog: string): Receipt | null;
  /** The newest first; those that ended before `since` may be missing. */
  receipts(since?: number): Receipt[];
  writeEpitaph(warrant: string, text: string): void;
  epitaph(warrant: string): string | null;
  markDone(dog: string, verdict: string): void;
  /** Markers that nobody has to see any more, and what crashes have left half written. */
  removeOldMarkers(before: number): void;

  /** False when it is too late: its dog executes, or it is over. */
  askToWithdraw(id: string): boolean;
  askToRelease(dog: string): void;
  /** What was asked for, by id of the warrant, and by dog; and the nonces that were answered. */
  asked(): { withdrawals: string[]; releases: string[]; answers: string[] };
  forgetWithdrawal(id: string): void;
  forgetRelease(dog: string): void;

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

export interface BadWarrant {
  name: string;
  why: string;
  /** When it was last written: it may be half of one. */
  at: number;
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

const MAX_WARRANT = 64 * 1024;
const MAX_DANCE = 16 * 1024 * 1024;
const FOLDERS = [
  "warrants",
  "active",
  "completed",
  "epitaphs",
  "inbox",
  "rejected",
  "withdrawn",
  "withdrawals",
  "questions",
  "answers",
];

export function wardenFilesIn(folder: string): WardenFiles {
  const at = (...parts: string[]) => join(folder, ...parts);
  const make = () => {
    for (const name of FOLDERS) mkdirSync(at(name), { recursive: true, mode: 0o700 });
  };
  const known = new Map<string, { stamp: string; read: Warrant | string }>();

  const read = (name: string): Warrant | string | null => {
    const path = at("warrants", name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return null;
    const stamp = `${stats.ino}.${stats.mtimeMs}.${stats.size}`;
    const before = known.get(name);
    if (before?.stamp === stamp) return before.read;
    const now = warrantIn(path, name, stats.mtimeMs);
    if (now !== null) known.set(name, { stamp, read: now });
    return now;
  };

  const queued: WardenFiles["queued"] = () => {
    const names = listed(at("warrants")).filter(isMeant);
    for (const name of known.keys()) if (!names.includes(name)) known.delete(name);
    const warrants: Warrant[] = [];
    const bad: BadWarrant[] = [];
    for (const name of names) {
      const found = read(name);
      if (typeof found === "string")
        bad.push({ name, why: found, at: timeOf(at("warrants", name)) });
      else if (found !== null) warrants.push(found);
    }
    return { warrants: warrants.sort(byAge), bad };
  };

  const dances = () =>
    listed(at("active")).flatMap((name) => {
      const text =
        name.endsWith(".json") && isMeant(name) && readSmall(at("active", name), MAX_DANCE);
      const dance = text ? parseDance(text) : null;
      return dance !== null && `${dance.id}.json` === name ? [dance] : [];
    });

  /** Whatever it is: somebody may have made a folder of that name. */
  const remove = (path: string) =>
    explained(folder, () => rmSync(path, { force: true, recursive: true }));

  const locked = <T>(act: () => T): T =>
    explained(folder, () => {
      make();
      return withFileLock(at(".files"), act);
    });

  return {
    folder,
    take: () =>
      explained(folder, () => {
        make();
        return takeForLife(at(".lock"));
      }),

    queued: () => explained(folder, queued),
    file: (warrant) =>
      locked(() => {
        const dancing = dances().map((dance) => ({ ...dance.warrant, bound: dance.bound }));
        const same = new OpenTargets([...dancing, ...queued().warrants]).same(warrant);
        if (same !== undefined) return { filed: false, id: same };
        publish(at("warrants", `${warrant.id}.json`), json(warrant), "new");
        return { filed: true, id: warrant.id };
      }),
    reject: (name, why) =>
      explained(folder, () => {
        const to = freeName(at("rejected"), name);
        replace(`${to}.why`, `${why}\n`);
        moveIfThere(at("warrants", name), to);
      }),
    dropQueued: (id) => remove(at("warrants", `${id}.json`)),
    withdrawQueued: (id) =>
      locked(
        () =>
          isName(id) && moveIfThere(at("warrants", `${id}.json`), at("withdrawn", `${id}.json`)),
      ),
    withdrawn: (id) => {
      const found = isName(id) ? warrantIn(at("withdrawn", `${id}.json`), `${id}.json`, 0) : null;
      return typeof found === "string" ? null : found;
    },

    dances: () => explained(folder, dances),
    badDances: () => {
      const good = new Set(dances().map(({ id }) => `${id}.json`));
      return listed(at("active")).filter(
        (name) => name.endsWith(".json") && isMeant(name) && !good.has(name),
      );
    },
    begin: (dance) =>
      locked(() => {
        const path = at("warrants", `${dance.warrant.id}.json`);
        if (!existsSync(path)) return false;
        publish(at("active", `${dance.id}.json`), json(dance), "new");
        rmSync(path, { force: true });
        return true;
      }),
    save: (dance) =>
      explained(folder, () => publish(at("active", `${dance.id}.json`), json(dance), "replace")),
    saveForExecution: (dance) =>
      locked(() => {
        const wishes = [at("withdrawals", dance.warrant.id), at("active", `${dance.id}.release`)];
        if (wishes.some((path) => existsSync(path))) return false;
        publish(at("active", `${dance.id}.json`), json(dance), "replace");
        return true;
      }),
    giveBack: (dance) =>
      locked(() => {
        const path = at("warrants", `${dance.warrant.id}.json`);
        publish(path, json(dance.warrant), "replace");
        // Its place in the queue is by when it was filed.
        const filed = new Date(dance.warrant.filed_at);
        utimesSync(path, filed, filed);
        for (const end of [".json", ".release"])
          rmSync(at("active", dance.id + end), { force: true });
      }),
    remove: (dog) => {
      for (const end of [".json", ".release"]) remove(at("active", dog + end));
      remove(at("questions", `${dog}.txt`));
    },
    newDog: (now) => {
      for (let time = now; ; time++) {
        const dog = `dog-${time}`;
        const isTaken = [at("active", `${dog}.json`), at("completed", `${dog}.json`)].some(
          existsSync,
        );
        if (!isTaken) return dog;
      }
    },

    writeReceipt: (receipt) =>
      explained(folder, () =>
        publish(at("completed", `${receipt.dog}.json`), json(receipt), "replace"),
      ),
    receipt: (dog) => (isName(dog) ? receiptIn(at("completed", `${dog}.json`)) : null),
    receipts: (since = 0) =>
      listed(at("completed"))
        .filter(
          (name) =>
            name.endsWith(".json") && isMeant(name) && isSince(at("completed", name), since),
        )
        .flatMap((name) => receiptIn(at("completed", name)) ?? [])
        .sort((a, b) => (a.ended_at < b.ended_at ? 1 : -1)),
    writeEpitaph: (warrant, text) =>
      explained(folder, () => replace(at("epitaphs", `${warrant}.md`), text)),
    epitaph: (warrant) =>
      isName(warrant) ? readSmall(at("epitaphs", `${warrant}.md`), MAX_DANCE) : null,
    markDone: (dog, verdict) =>
      explained(folder, () => replace(at("active", `${dog}.done`), `${verdict}\n`)),
    removeOldMarkers: (before) => {
      for (const name of listed(at("active"))) {
        const isOld = name.endsWith(".done") && !isSince(at("active", name), before);
        if (isOld) remove(at("active", name));
      }
      for (const place of FOLDERS) {
        for (const name of listed(at(place)).filter(isHalfWritten)) {
          if (!isSince(at(place, name), before)) remove(at(place, name));
        }
      }
    },

    askToWithdraw: (id) =>
      locked(() => {
        const dance = dances().find(({ warrant }) => warrant.id === id);
        if (dance === undefined || !isUndecided(dance)) return false;
        replace(at("withdrawals", id), "");
        return true;
      }),
    askToRelease: (dog) => explained(folder, () => replace(at("active", `${dog}.release`), "")),
    asked: () => ({
      withdrawals: listed(at("withdrawals")).filter(isName),
      releases: listed(at("active")).flatMap((name) => /^(.+)\.release$/.exec(name)?.[1] ?? []),
      answers: listed(at("answers")).filter(isName),
    }),
    forgetWithdrawal: (id) => remove(at("withdrawals", id)),
    forgetRelease: (dog) => remove(at("active", `${dog}.release`)),

    questionFile: (dog) => at("questions", `${dog}.txt`),
    answer: (nonce, text) => explained(folder, () => replace(at("answers", nonce), text)),
    answered: (nonce) => (isName(nonce) ? readSmall(at("answers", nonce), MAX_WARRANT) : null),

    forgetAnswers: (nonces) => {
      for (const nonce of nonces) remove(at("answers", nonce));
    },

    observe: (line) =>
      explained(folder, () =>
        appendFileSync(at("observed.jsonl"), `${JSON.stringify(line)}\n`, { mode: 0o600 }),
      ),
    observedFile: () => at("observed.jsonl"),

    paused: () => parsed<Pause>(readSmall(at("paused"), MAX_WARRANT)),
    pause: (pause) => explained(folder, () => publish(at("paused"), json(pause), "replace")),
    resume: (time) =>
      explained(folder, () => {
        publish(at("resumed"), `${new Date(time).toISOString()}\n`, "replace");
        rmSync(at("paused"), { force: true });
      }),
    resumedAt: () => Date.parse(readSmall(at("resumed"), 100)?.trim() ?? "") || 0,

    warden: () => parsed<WardenState>(readSmall(at("warden.json"), MAX_WARRANT)),
    writeWarden: (state) => explained(folder, () => replace(at("warden.json"), json(state))),
    watch: (act) => {
      make();
      const watchers = ["", "warrants", "active", "withdrawals", "answers"].flatMap((name) => {
        try {
          const watcher = watch(at(name), () => act());
          watcher.on("error", () => watcher.close());
          return [watcher];
        } catch {
          return []; // no more notifications to be had: the slow look must do
        }
      });
      return () => {
        for (const watcher of watchers) watcher.close();
      };
    },
  };
}

/** Hidden names are files half written. */
function isMeant(name: string): boolean {
  return !name.startsWith(".");
}

function byAge(a: Warrant, b: Warrant): number {
  if (a.filed_at !== b.filed_at) return a.filed_at < b.filed_at ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** A sentence says why it is none; null when it is gone. */
function warrantIn(path: string, name: string, time: number): Warrant | string | null {
  if (!name.endsWith(".json")) return "a warrant is a file whose name ends with .json";
  try {
    const text = readSmall(path, MAX_WARRANT);
    if (text === null) {
      return lstatSync(path, { throwIfNoEntry: false })
        ? "it is no plain file, or larger than 64 KiB"
        : null;
    }
    return parseWarrant(text, name.slice(0, -".json".length), time);
  } catch (error) {
    if (isVivError(error, "INVALID")) return error.message;
    if (isVivError(error, "READ_ONLY")) return "it may not be read";
    throw error;
  }
}

function receiptIn(path: string): Receipt | null {
  const receipt = parsed<Receipt>(readSmall(path, MAX_DANCE));
  return typeof receipt?.dog === "string" && typeof receipt.verdict === "string" ? receipt : null;
}

function parsed<T>(text: string | null): T | null {
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as T) : null;
  } catch {
    return null; // torn by a power loss
  }
}

function isSince(path: string, since: number): boolean {
  return timeOf(path) >= since;
}

function timeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** False when it was not there (any more). */
function moveIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function freeName(folder: string, name: string): string {
  for (let n = 0; ; n++) {
    const path = join(folder, n === 0 ? name : `${name}.${n}`);
    if (!existsSync(path)) return path;
  }
}
