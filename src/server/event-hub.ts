import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { setBounded } from "../base/bounded-map.ts";
import { messageOf } from "../base/errors.ts";
import type { FollowOptions, LedgersNews } from "../ledger/follow.ts";
import { wordOf } from "../queue/states.ts";
import type { Change, Counts, Store } from "../queue/store.ts";
import { type EventFilter, wantsLine, wantsMove } from "./event-filter.ts";
import { EventStream } from "./event-stream.ts";
import { LiveCounts } from "./live-counts.ts";

/** Throws when `from` is no position. */
export type FollowLedgers = (options: FollowOptions) => LedgersNews;

export interface HubAround {
  /** The run as it is now; rejects while it is not there. */
  store(): Promise<Store>;
  followIn(store: Store): Promise<FollowLedgers>;
  now(): number;
  /** A stream that is so far behind is closed. */
  unreadBytes: number;
  warn(sentence: string): void;
}

/** So often a line comes at the least: a dead connection is seen, and the run looked after. */
const HEARTBEAT_MS = 15_000;
/** Lines that are written together are sent together. */
const LOOK_AFTER_MS = 20;
const COUNTS_EVERY_MS = 250;
const TURN_BYTES = 128 * 1024;

/** What one store tells to all streams, until the store is replaced. */
interface Attached {
  store: Store;
  /** In each id, before the position: a page may ask the server of another run with the id of the last. */
  runKey: string;
  follow: FollowLedgers;
  ledgers: LedgersNews;
  counts: LiveCounts;
  /** Of tasks that were looked at; another run may have other tasks with these ids. */
  types: Map<string, string>;
  stop: AbortController;
  unwatch: () => void;
}

/**
 * Reads the run's changes once and sends them to any number of streams. Idle, it costs a heartbeat;
 * without streams, nothing.
 */
export class EventHub {
  readonly #around: HubAround;
  readonly #streams = new Set<EventStream>();
  #joining = 0;
  #attached: Attached | null = null;
  #attaching: Promise<Attached> | null = null;
  /** Behind the last line that was sent. */
  #position = "";
  #looking: Promise<void> | null = null;
  #lookAgain = false;
  #lookTimer: NodeJS.Timeout | undefined;
  #countsTimer: NodeJS.Timeout | undefined;
  #countsAt = 0;
  #toldCounts = "";
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(around: HubAround) {
    this.#around = around;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** With those that are about to begin: many may ask at once. */
  get sizeSoon(): number {
    return this.#streams.size + this.#joining;
  }

  /** The response is the stream from now on. Rejects before that when the run cannot be read. */
  async join(
    response: ServerResponse,
    headers: Record<string, string>,
    filter: EventFilter,
    from: string | undefined,
  ): Promise<void> {
    this.#joining++;
    const attached = await this.#counted().finally(() => {
      this.#joining--;
    });
    const { follow, first, runKey } = attached;
    if (response.destroyed) return this.#detachUnused();
    const stream = new EventStream(response, headers, filter, this.#around.unreadBytes);
    // From here on it gets what comes after this position.
    const to = this.#position;
    this.#streams.add(stream);
    response.once("close", () => this.#leave(stream));
    this.#heartbeat ??= setInterval(() => void this.#beat(), HEARTBEAT_MS).unref();
    const at = new Date(this.#around.now()).toISOString();
    const idOf = (position: string) => `${runKey}:${position}`;
    const place = from === undefined ? undefined : positionIn(from, runKey);
    const missed = typeof place === "string" ? missedLines(follow, place, to) : null;
    // A client that resumes from "end" would begin with a later one.
    const start = missed === null || place === "end" ? to : (place ?? to);
    stream.sendNow("hello", { counts: first, at }, idOf(start));
    if (from !== undefined && missed === null) stream.sendNow("reset", {}, idOf(to));
    for await (const { line, position } of missed?.news() ?? []) {
      const type = filter.type && (await typeOf(attached, line.task));
      if (wantsLine(filter, line, type ?? null)) stream.sendNow("ledger", line, idOf(position));
      if (!(await stream.keepsUp())) return;
    }
    stream.goLive();
  }

  /** While it counts, the last other stream may end, or the run be replaced. */
  async #counted(): Promise<Attached & { first: Counts }> {
    for (;;) {
      const attached = await this.#attach();
      const first = await attached.counts.read();
      if (this.#attached === attached) return { ...attached, first };
    }
  }

  #leave(stream: EventStream): void {
    this.#streams.delete(stream);
    this.#detachUnused();
  }

  #detachUnused(): void {
    if (this.#streams.size === 0) this.#detach();
  }

  async #attach(): Promise<Attached> {
    const store = await this.#around.store();
    if (this.#attached?.store === store) return this.#attached;
    this.#attaching ??= this.#attachTo(store).finally(() => {
      this.#attaching = null;
    });
    return this.#attaching;
  }

  async #attachTo(store: Store): Promise<Attached> {
    const follow = await this.#around.followIn(store);
    this.#release();
    const ledgers = follow({ from: "end" });
    const stop = new AbortController();
    const attached: Attached = {
      ...{ store, follow, ledgers, stop, counts: new LiveCounts(store), runKey: keyOf(store) },
      types: new Map(),
      unwatch: ledgers.onNews(() => this.#lookSoon()),
    };
    this.#attached = attached;
    this.#position = ledgers.position();
    void this.#watch(attached);
    // Those that are there already had another run, or one that could not be watched for a while.
    this.#broadcast("reset", {}, () => true);
    return attached;
  }

  #release(): void {
    this.#attached?.stop.abort();
    this.#attached?.unwatch();
    this.#attached = null;
  }

  #detach(): void {
    this.#release();
    clearInterval(this.#heartbeat);
    clearTimeout(this.#lookTimer);
    clearTimeout(this.#countsTimer);
    this.#heartbeat = this.#lookTimer = this.#countsTimer = undefined;
  }

  close(): void {
    for (const stream of [...this.#streams]) stream.end();
    this.#detach();
  }

  async #watch(attached: Attached): Promise<void> {
    try {
      let n = 0;
      for await (const change of attached.store.watch({ signal: attached.stop.signal })) {
        if (attached.stop.signal.aborted) return;
        await this.#tell(attached, change);
        if (++n % 500 === 0) await turn();
      }
    } catch (error) {
      this.#around.warn(`changes of the run cannot be watched: ${messageOf(error)}`);
      if (this.#attached === attached) this.#release(); // the next heartbeat tries again
    }
  }

  async #tell(attached: Attached, change: Change): Promise<void> {
    const { counts } = attached;
    this.#lookSoon();
    if (change.kind === "ledger") return;
    if (change.kind === "missed") {
      counts.forget();
      this.#broadcast("reset", {}, () => true);
    } else {
      counts.apply(change);
      const { kind: _, cancelled, ...move } = change;
      const to = change.to && wordOf({ state: change.to, cancelled });
      const type = this.#asksTypes() ? await typeOf(attached, move.id) : null;
      this.#broadcast("task", { ...move, to }, (filter) => wantsMove(filter, move, type));
    }
    this.#countSoon();
  }

  #countSoon(ms = COUNTS_EVERY_MS): void {
    const at = performance.now() + ms;
    if (this.#countsTimer !== undefined && at >= this.#countsAt) return;
    clearTimeout(this.#countsTimer);
    this.#countsAt = at;
    this.#countsTimer = setTimeout(() => {
      this.#countsTimer = undefined;
      void this.#sendCounts();
    }, ms);
  }

  async #sendCounts(): Promise<void> {
    const counts = this.#attached?.counts;
    const now = await counts?.read().catch(() => null); // the next change tries again
    if (!counts || !now) return;
    const text = JSON.stringify(now);
    if (text !== this.#toldCounts) this.#broadcast("counts", { counts: now }, () => true);
    this.#toldCounts = text;
    if (counts.recountIn !== null) this.#countSoon(Math.max(COUNTS_EVERY_MS, counts.recountIn));
  }

  #lookSoon(): void {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined;
      this.#lookAgain = true;
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, LOOK_AFTER_MS);
  }

  async #look(): Promise<void> {
    while (this.#lookAgain && this.#attached !== null) {
      this.#lookAgain = false;
      const attached = this.#attached;
      try {
        let [n, bytes] = [0, 0];
        for await (const { line, position } of attached.ledgers.news()) {
          const type = this.#asksTypes() ? await typeOf(attached, line.task) : null;
          if (this.#attached !== attached) break; // there may be news of the next one
          this.#position = position;
          const isWanted = (filter: EventFilter) => wantsLine(filter, line, type);
          bytes += this.#broadcast("ledger", line, isWanted, `${attached.runKey}:${position}`);
          // So that clients that read get it before more comes.
          if (++n % 500 === 0 || bytes > TURN_BYTES) {
            bytes = 0;
            await turn();
          }
        }
      } catch (error) {
        this.#around.warn(`the ledger cannot be read: ${messageOf(error)}`);
      }
    }
  }

  /** The text is made once for all; returns its length. */
  #broadcast(
    event: string,
    data: unknown,
    isWanted: (filter: EventFilter) => boolean,
    id?: string,
  ): number {
    let text: string | undefined;
    for (const stream of this.#streams) {
      if (!isWanted(stream.filter)) continue;
      text ??= EventStream.text(event, data, id);
      stream.send(text);
    }
    return text?.length ?? 0;
  }

  /** Also the place of a stream whose filter let nothing through for long. */
  async #beat(): Promise<void> {
    const id = this.#attached && `${this.#attached.runKey}:${this.#position}`;
    for (const stream of this.#streams) stream.beat((this.#looking ? null : id) ?? undefined);
    try {
      await this.#attach();
    } catch {
      // Not there now: requests say so, and the next heartbeat looks again.
    }
  }

  #asksTypes(): boolean {
    for (const { filter } of this.#streams) if (filter.type !== undefined) return true;
    return false;
  }
}

/** Null for a task that is not there, or cannot be read now. */
async function typeOf({ store, types }: Attached, task?: string): Promise<string | null> {
  if (task === undefined) return null;
  const known = types.get(task);
  if (known !== undefined) return known;
  const type = (await store.show(task).catch(() => null))?.type ?? null;
  if (type !== null) setBounded(types, task, type, 1_000);
  return type;
}

/** By its folder: the id of a run may be that of many. */
function keyOf({ folder }: Store): string {
  return createHash("sha256").update(realpathSync(folder)).digest("hex").slice(0, 12);
}

/** The position in an id; null: of another run. An id that was written by hand may name none. */
function positionIn(id: string, runKey: string): string | null {
  const [, key = runKey, position = id] = /^([0-9a-f]{12}):(.*)$/.exec(id) ?? [];
  return key === runKey ? position : null;
}

/** Null when they cannot be had: the position is not one of this run, or its lines are gone. */
function missedLines(follow: FollowLedgers, from: string, to: string): LedgersNews | null {
  try {
    const missed = follow({ from, to });
    return missed.isLost ? null : missed;
  } catch {
    return null; // no position
  }
}
