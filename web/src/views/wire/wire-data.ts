import { signal } from "@preact/signals";
import { ApiError, apiPath, get } from "../../live/api.ts";
import { connection, generation, type LedgerLine, onEvent } from "../../live/events.ts";
import { type WireLine, wireLine } from "./wire-line.ts";

/** So many lines are kept; older ones are read again when scrolled to. */
const MOST = 5_000;
const PAGE = 200;

interface LedgerPage {
  lines?: LedgerLine[];
  entries?: LedgerLine[];
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
    // Only once events come: a line between the history and the first event would be in neither.
    const stop = connection.subscribe(({ state }) => {
      if (state === "connecting") return;
      queueMicrotask(() => stop());
      void this.older();
    });
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
    if (this.lines.value.length === MOST) this.isAtEnd.value = false;
  }

  /** The lines before the oldest that is shown. */
  async older(): Promise<void> {
    if (this.isReading.value || this.isAtEnd.value) return;
    this.isReading.value = true;
    const until = this.lines.value.at(-1)?.at;
    try {
      const page = await get<LedgerPage>(
        apiPath("ledger show", { until, limit: PAGE, newest: true }),
      );
      const given = page.lines ?? page.entries ?? [];
      this.#append(given);
      if (given.length < PAGE) this.isAtEnd.value = true;
      this.error.value = null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.error.value = error;
      this.isAtEnd.value = true;
    } finally {
      this.isReading.value = false;
    }
  }

  #append(given: readonly LedgerLine[]): void {
    const known = new Set(this.lines.value.map(({ line }) => identity(line)));
    const older = given
      .filter((line) => !known.has(identity(line)))
      .map((line) => wireLine(line, `old ${this.#count++}`));
    older.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
    this.lines.value = [...this.lines.value, ...older];
    if (older.length === 0) this.isAtEnd.value = true;
  }
}

/** A line that comes live and once more as history is one. */
function identity({ at, event, task, worker, token, tool, target }: LedgerLine): string {
  return JSON.stringify([at, event, task, worker, token, tool, target]);
}
