import { batch, effect, signal } from "@preact/signals";
import { type ApiError, apiPath, get, isAbort } from "../../live/api.ts";
import { generation, onEvent } from "../../live/events.ts";
import type { Cards } from "../../live/shapes.ts";
import { COLUMNS, type Column } from "../../parts/glyph.tsx";
import { ColumnCards } from "./column-cards.ts";
import { pagesOf } from "./row-window.ts";

/** Rows of one request and column; what is seen is at most two pages. */
const PAGE = 50;
/** Between two refreshes: what happens right after one is still seen within 150 ms. */
const REFRESH_MS = 80;
/** While the server still reads the run, only its counts grow. */
const READING_MS = 250;

type Ask = { column: Column; index: number; offset: number };

/**
 * The cards of the board: reads windows of the six columns around what is seen, keeps the pages,
 * and reads again what is seen when something happens. One request at a time fills gaps, one
 * refreshes.
 */
export class BoardData {
  readonly columns = Object.fromEntries(
    COLUMNS.map((column) => [column, new ColumnCards(column)]),
  ) as Record<Column, ColumnCards>;
  /** Exact, of now, with the filter; null before the first answer. */
  readonly counts = signal<Cards["counts"] | null>(null);
  readonly all = signal<Cards["all"] | null>(null);
  readonly types = signal<Cards["types"]>([]);
  readonly workers = signal<Cards["workers"]>([]);
  readonly reading = signal<Cards["reading"]>(null);
  readonly error = signal<ApiError | null>(null);
  readonly isHeld = signal(false);
  /** Grows with the first answer to another filter: columns begin at their top. */
  readonly anew = signal(0);

  #filter = "";
  /** Until an answer to this filter is there. */
  #isAnew = false;
  #filling: AbortController | null = null;
  #refreshing: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #free = 0;
  #isDue = false;
  #stops: (() => void)[] = [];

  /** Until `stop()`. */
  start(filter: string): void {
    this.#filter = filter;
    this.#stops = [
      onEvent((event) => {
        if (event.kind === "task") {
          for (const column of COLUMNS) this.columns[column].moved(event.data);
        }
        // hello: what happened between the first answer and the first event is in neither.
        if (["task", "ledger", "hello"].includes(event.kind)) this.refreshSoon();
      }),
      effect(() => {
        if (generation.value > 0) this.refreshSoon();
      }),
    ];
    void this.#refresh();
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#filling?.abort();
    this.#refreshing?.abort();
    this.#filling = null;
    this.#refreshing = null;
  }

  /** Whether it is another one; what is shown stays until the answer is there. */
  setFilter(filter: string): boolean {
    if (filter === this.#filter) return false;
    this.#filter = filter;
    this.#isAnew = true;
    for (const column of COLUMNS) this.columns[column].wanted = [0, 20];
    this.#filling?.abort();
    this.#filling = null;
    void this.#refresh();
    return true;
  }

  hold(isHeld: boolean): void {
    this.isHeld.value = isHeld;
    if (!isHeld) void this.#refresh();
  }

  /** Rows that a column draws now: what is missing is read. */
  want(column: Column, start: number, end: number): void {
    this.columns[column].wanted = [start, end];
    if (this.#missing().length > 0) void this.#fill();
  }

  /** A column may move again. */
  settle(column: Column): void {
    if (!this.isStill(column)) this.refreshSoon();
  }

  isStill(column: Column): boolean {
    return this.isHeld.value || this.columns[column].isStill;
  }

  refreshSoon(): void {
    if (this.#refreshing !== null) {
      this.#isDue = true;
      return;
    }
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        void this.#refresh();
      },
      Math.max(20, this.#free - Date.now()),
    );
  }

  /** Pages with a row that is wanted and not there. */
  #missing(): Ask[] {
    return COLUMNS.flatMap((column) => {
      const cards = this.columns[column];
      const [start, wantedEnd] = cards.wanted;
      const end = Math.min(wantedEnd, cards.total.value);
      return pagesOf(start, end, PAGE)
        .filter((page) => {
          const from = Math.max(start, page * PAGE);
          const to = Math.min(end, (page + 1) * PAGE);
          for (let index = from; index < to; index++) if (!cards.has(index)) return true;
          return false;
        })
        .map((page) => ({ column, index: page * PAGE, offset: cards.placeOf(page * PAGE) }));
    });
  }

  async #fill(): Promise<void> {
    if (this.#filling !== null) return;
    const abort = new AbortController();
    this.#filling = abort;
    try {
      // What is wanted may have changed while the last pages were on their way.
      for (let asks = this.#missing(); asks.length > 0; asks = this.#missing()) {
        const answer = await this.#ask(asks, abort.signal);
        let isNews = false;
        batch(() => {
          answer.windows.forEach((window, at) => {
            const ask = asks[at];
            if (ask === undefined) return;
            if (window.cards.length > 0) isNews = true;
            this.columns[ask.column].fill(ask.index, window);
          });
        });
        if (!isNews) break; // the list has become shorter: a refresh tells
      }
    } catch (error) {
      if (!isAbort(error)) this.error.value = error as ApiError;
    }
    if (this.#filling === abort) this.#filling = null;
  }

  async #refresh(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#refreshing?.abort();
    const abort = new AbortController();
    this.#refreshing = abort;
    this.#isDue = false;
    const isAnew = this.#isAnew;
    const began = Date.now();
    const asks = COLUMNS.flatMap((column): Ask[] => {
      const cards = this.columns[column];
      const [start, end] = cards.wanted;
      const place = isAnew ? 0 : cards.placeOf(start);
      return pagesOf(place, place + Math.max(1, end - start), PAGE).map((page) => ({
        ...{ column, index: page * PAGE, offset: page * PAGE },
      }));
    });
    try {
      const answer = await this.#ask(asks, abort.signal);
      batch(() => {
        this.error.value = null;
        this.counts.value = answer.counts;
        this.all.value = answer.all;
        this.types.value = answer.types;
        this.workers.value = answer.workers;
        this.reading.value = answer.reading;
        for (const column of COLUMNS) {
          const windows = answer.windows.filter((window) => window.column === column);
          this.columns[column].refresh(windows, isAnew || !this.isStill(column));
        }
        this.#isAnew = false;
        if (isAnew) this.anew.value++;
      });
    } catch (error) {
      if (isAbort(error)) return;
      this.error.value = error as ApiError;
    }
    if (this.#refreshing !== abort) return;
    this.#refreshing = null;
    const tookMs = Date.now() - began;
    const isReading = this.reading.value !== null;
    this.#free = Date.now() + Math.max(isReading ? READING_MS : REFRESH_MS, 2 * tookMs);
    // Those counts grow without events.
    if (this.#isDue || isReading) this.refreshSoon();
    if (this.#missing().length > 0) void this.#fill();
  }

  #ask(asks: readonly Ask[], signal: AbortSignal): Promise<Cards> {
    const windows = asks.map(({ column, offset }) => `${column}:${offset}:${PAGE}`).join(",");
    return get<Cards>(apiPath("cards", { windows, filter: this.#filter }), signal);
  }
}
