import { pause } from "../platform/machine-retry.ts";
import { LogLines } from "./log-lines.ts";
import type { LogTail, Store } from "./store.ts";

/** The logs of all tasks that are being worked on, as one stream. */

export interface LogChoice {
  worker?: string;
  types?: readonly string[];
}

/** `idle`: nothing is being worked on when the following begins; `note`: why that may stay so. */
export type LogNews =
  | { event: "idle"; note?: string }
  | ({ event: "began" | "line"; text?: string } & About)
  | ({ event: "ended"; outcome?: string; to?: string; note?: string } & About);

interface About {
  id: string;
  worker: string;
}

interface Followed extends About {
  tail: LogTail;
  lines: LogLines;
  /** How it ended, by the ledger. */
  end?: { outcome?: string; to?: string; note?: string };
  /** Looks that did not find its claim: the ledger may be late, or written by another program. */
  missing: number;
}

const LOOK_MS = 250;
/** Of an attempt that is under way already, the last of its log. */
const FIRST_BYTES = 2 * 1024;
/** At one look, so that a talkative one does not hold up the others. */
const MOST_PIECES = 4;
/** Looks until text without a line end is shown, and until a claim that is gone is one that ended. */
const QUIET_LOOKS = 4;
const MISSING_LOOKS = 6;

export async function* followLogs(
  store: Store,
  choice: LogChoice,
  signal: AbortSignal,
): AsyncGenerator<LogNews, void> {
  const following = new Map<string, Followed>();
  /** Ended by the ledger, which comes before the rename: the claim may be there for another look. */
  const over = new Set<string>();
  const ledger = store.followLedger({ from: "end" });
  const begin = (about: About, bytes: number): LogNews => {
    const tail = store.tailLog(about.id, { bytes });
    following.set(about.id, { ...about, tail, lines: new LogLines(), missing: 0 });
    return { event: "began", ...about };
  };
  try {
    for (let look = 0; !signal.aborted; look++) {
      for await (const { line } of ledger.news()) {
        const { event, task: id, worker, outcome, to, note } = line;
        if (event === "claimed" && id !== undefined) over.delete(id);
        if (event !== "ended" || id === undefined || worker === undefined) continue;
        // It may have begun and ended since the last look.
        const isNew = !following.has(id) && (await isChosen(store, choice, { id, worker }));
        if (isNew) yield begin({ id, worker }, Number.POSITIVE_INFINITY);
        const one = following.get(id);
        over.add(id);
        if (one !== undefined) one.end = { outcome, to, note };
        if (one !== undefined) yield* rest(one, following);
      }
      const claimed = await claims(store, choice);
      for (const id of over) if (!claimed.has(id)) over.delete(id);
      if (look === 0 && claimed.size === 0)
        yield { event: "idle", note: await unknownWorker(store, choice) };
      for (const [id, worker] of claimed) {
        if (following.has(id) || over.has(id)) continue;
        yield begin({ id, worker }, look === 0 ? FIRST_BYTES : Number.POSITIVE_INFINITY);
      }
      let isMore = false;
      for (const one of [...following.values()]) {
        isMore = (yield* news(one)) || isMore;
        one.missing = claimed.get(one.id) === one.worker ? 0 : one.missing + 1;
        if (one.missing < MISSING_LOOKS) continue;
        const state = (await store.show(one.id))?.state;
        one.end = { to: state };
        yield* rest(one, following);
      }
      if (!isMore) await pause(LOOK_MS, signal);
    }
  } finally {
    for (const { tail } of following.values()) tail.close();
  }
}

/** The lines that came. True: there are more. */
function* news(one: Followed): Generator<LogNews, boolean> {
  for (let piece = 0; piece < MOST_PIECES; piece++) {
    const text = one.tail.read();
    const lines = text === null ? one.lines.quiet(QUIET_LOOKS) : one.lines.push(text);
    for (const line of lines) yield { event: "line", id: one.id, worker: one.worker, text: line };
    if (text === null) return false;
  }
  return true;
}

/** All that is left of it, and how it ended. */
function* rest(one: Followed, following: Map<string, Followed>): Generator<LogNews> {
  const { id, worker } = one;
  while (yield* news(one));
  for (const text of one.lines.flush()) yield { event: "line", id, worker, text };
  one.tail.close();
  following.delete(id);
  yield { event: "ended", id, worker, ...one.end };
}

/** The name may be a slip, or that of a worker that starts later. */
async function unknownWorker(store: Store, { worker }: LogChoice): Promise<string | undefined> {
  if (worker === undefined) return undefined;
  const names = (await store.workers()).map(({ name }) => name);
  if (names.includes(worker)) return undefined;
  const known = names.length > 0 ? `there are: ${names.join(", ")}` : "there is none yet";
  return `no worker ${worker} is known in this run; ${known}`;
}

async function claims(store: Store, { worker, types }: LogChoice): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const query = { states: ["claimed"] as const, types, unopened: types === undefined };
  for await (const task of store.list(query)) {
    if (task.worker === undefined || (worker ?? task.worker) !== task.worker) continue;
    found.set(task.id, task.worker);
  }
  return found;
}

async function isChosen(store: Store, { worker, types }: LogChoice, one: About): Promise<boolean> {
  if (worker !== undefined && worker !== one.worker) return false;
  if (types === undefined) return true;
  const type = (await store.show(one.id))?.type;
  return type !== undefined && type !== null && types.includes(type);
}
