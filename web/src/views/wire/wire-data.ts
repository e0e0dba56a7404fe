import { signal } from "@preact/signals";
import { ApiError, apiPath, get } from "../../live/api.ts";
import { connection, generation, type LedgerLine, onEvent } from "../../live/events.ts";
import { historyQuery, type WireFilter, type WireLine, wireLine } from "./wire-line.ts";

/** So many lines are kept; a filter finds older ones. */
const MOST = 20_000;
const PAGE = 200;
const HOUR = 3_600_000;
/** How far back is looked at a time: the whole record may be long, and a day is one file. Null: to its begin. */
const REACHES: readonly (number | null)[] = [12 * HOUR, 7 * 24 * HOUR, null];

interface LedgerPage {
  /** The newest last. */
  lines: LedgerLine[];
  /** Earlier ones that were left out. */
  more: number;
}

/**
 * The lines of the wire, newest first. While it is held, new ones wait beside the list, so that
 * nothing moves under a reader. It lives as long as the page: what came while another view was open
 * is there.
 */
export class WireData {
  /** Newest first. */
  readonly lines = signal<readonly WireLine[]>([]);
  readonly waiting = signal<readonly WireLine[]>([]);
  readonly isHeld = signal(false);
  readonly error = signal<ApiError | null>(null);
  /** No older line is to be had. */
  readonly isAtEnd = signal(false);
  readonly isReading = signal(false);
  /** Lines at the top that came after the last look: they flash once. */
  fresh = new Set<string>();
  #count = 0;
  #isStarted = false;
  #query: Record<string, string> = {};

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    let pending: WireLine[] = [];
    onEvent((event) => {
      if (event.kind !== "ledger") return;
      pending.push(wireLine(event.data, event.id === "" ? `live ${this.#count++}` : event.id));
      if (pending.length > 1) return;
      // Many at once are one change of the list.
      requestAnimationFrame(() => {
        this.#add(pending.reverse());
        pending = [];
      });
    });
    let first = true;
    generation.subscribe(() => {
      if (!first && this.lines.value.length === 0) void this.older();
      first = false;
    });
  }

  /** What the server can filter: the history is read anew. */
  setFilter(filter: WireFilter): void {
    const query = historyQuery(filter);
    const isSame = JSON.stringify(query) === JSON.stringify(this.#query);
    if (isSame && this.lines.value.length > 0) return;
    this.#query = query;
    this.lines.value = [];
    this.isAtEnd.value = false;
    this.isReading.value = false;
    void this.older();
  }

  hold(isHeld: boolean): void {
    this.isHeld.value = isHeld;
    if (!isHeld) this.show();
  }

  /** Shows what has waited. */
  show(): void {
    const waiting = this.waiting.value;
    this.waiting.value = [];
    if (waiting.length > 0) this.#prepend(waiting);
  }

  #add(lines: readonly WireLine[]): void {
    if (this.isHeld.value) this.waiting.value = [...lines, ...this.waiting.value].slice(0, MOST);
    else this.#prepend(lines);
  }

  #prepend(lines: readonly WireLine[]): void {
    const known = new Set(this.lines.value.slice(0, 500).map(({ key }) => key));
    const added = lines.filter(({ key }) => !known.has(key));
    this.fresh = new Set(added.map(({ key }) => key));
    this.lines.value = [...added, ...this.lines.value].slice(0, MOST);
  }

  /** The lines before the oldest that is shown. */
  async older(): Promise<void> {
    if (this.isReading.value || this.isAtEnd.value || this.lines.value.length >= MOST) return;
    this.isReading.value = true;
    const query = this.#query;
    try {
      await eventsCome(); // a line between the history and the first event would be in neither
      const isDone = await this.#readBefore(query);
      if (query !== this.#query) return; // another filter was chosen meanwhile
      if (isDone) this.isAtEnd.value = true;
      this.error.value = null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.error.value = error;
      this.isAtEnd.value = true;
    } finally {
      if (query === this.#query) this.isReading.value = false;
    }
  }

  /** True: there are none before these. */
  async #readBefore(query: Record<string, string>): Promise<boolean> {
    const oldest = this.lines.value.at(-1)?.at;
    // With those of the same moment: which of them are known is seen by their text.
    const until = oldest && new Date(Date.parse(oldest) + 1).toISOString();
    const end = until === undefined ? Date.now() : Date.parse(until);
    for (const reach of REACHES) {
      const since = reach === null ? undefined : new Date(end - reach).toISOString();
      const path = apiPath("ledger show", { ...query, until, since, limit: PAGE });
      const { lines, more } = await get<LedgerPage>(path);
      if (query !== this.#query) return false;
      const isNew = this.#append(lines) > 0;
      if (reach === null) return more === 0 || !isNew;
      if (isNew && (more > 0 || lines.length >= PAGE / 4)) return false;
    }
    return true;
  }

  #append(given: readonly LedgerLine[]): number {
    const known = new Set(this.lines.value.map(({ line }) => identity(line)));
    const older = given
      .filter((line) => !known.has(identity(line)))
      .map((line) => wireLine(line, `old ${this.#count++}`));
    older.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
    if (older.length > 0) this.lines.value = [...this.lines.value, ...older];
    return older.length;
  }
}

/** A line that comes live and once more as history is one. */
function identity({ at, event, task, worker, token, tool, target }: LedgerLine): string {
  return JSON.stringify([at, event, task, worker, token, tool, target]);
}

/** Or cannot, for now. */
function eventsCome(): Promise<void> {
  return new Promise((resolve) => {
    const stop = connection.subscribe(({ state }) => {
      if (state === "connecting") return;
      queueMicrotask(() => stop());
      resolve();
    });
  });
}
