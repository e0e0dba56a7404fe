import { signal } from "@preact/signals";
import type { TaskMove } from "../../live/events.ts";
import type { Card, CardWindow } from "../../live/shapes.ts";
import { type Column, columnOf } from "../../parts/glyph.tsx";

/**
 * The cards of one column as they are shown. While the column is *still* (scrolled, held, under the
 * pointer, focused) no row moves: cards change in place, and what came or went is counted until the
 * column may move again. Otherwise every answer replaces what is shown.
 */
export class ColumnCards {
  readonly column: Column;
  /** Rows in the list as it is shown; the exact count of now is the board's. */
  readonly total = signal(0);
  /** Grows when a card changes. */
  readonly version = signal(0);
  /** Tasks that came into the column and are not shown yet. */
  readonly arrived = signal(0);

  /** What is drawn now: from, up to. */
  wanted: [number, number] = [0, 20];
  isScrolled = false;
  isPointed = false;
  isFocused = false;

  #cards = new Map<number, Card>();
  #came = new Set<string>();
  #left = new Set<string>();

  constructor(column: Column) {
    this.column = column;
  }

  at(index: number): Card | undefined {
    return this.#cards.get(index);
  }

  has(index: number): boolean {
    return this.#cards.has(index);
  }

  indexOf(id: string): number {
    for (const [index, card] of this.#cards) if (card.id === id) return index;
    return -1;
  }

  get isStill(): boolean {
    return this.isScrolled || this.isPointed || this.isFocused;
  }

  /** Where the row that is shown at `index` is by now, as far as it is known. */
  placeOf(index: number): number {
    const isNewestFirst = this.column === "done" || this.column === "failed";
    const shift = isNewestFirst ? this.#came.size : -this.#left.size;
    return Math.max(0, index + shift);
  }

  /** An answer for rows that were not there yet: they are added where they are looked for. */
  fill(index: number, { cards }: CardWindow): void {
    cards.forEach((card, at) => {
      if (!this.#cards.has(index + at)) this.#cards.set(index + at, card);
    });
    this.version.value++;
  }

  /** An answer about what is seen. Without `isMoving`, rows stay where they are. */
  refresh(windows: readonly CardWindow[], isMoving: boolean): void {
    if (isMoving) {
      this.#cards.clear();
      this.#came.clear();
      this.#left.clear();
      this.arrived.value = 0;
      for (const { offset, cards, total } of windows) {
        cards.forEach((card, at) => {
          this.#cards.set(offset + at, card);
        });
        this.total.value = total;
      }
    } else {
      const places = new Map([...this.#cards].map(([index, { id }]) => [id, index]));
      for (const card of windows.flatMap(({ cards }) => cards)) {
        const index = places.get(card.id);
        if (index !== undefined) this.#cards.set(index, card);
      }
    }
    this.version.value++;
  }

  /** A task has moved: its card says so at once, where it is. */
  moved({ id, from, to, at, worker }: TaskMove): void {
    const isHere = columnOf(to) === this.column;
    const wasHere = columnOf(from) === this.column;
    if (isHere === wasHere) return;
    const [known, other] = isHere ? [this.#came, this.#left] : [this.#left, this.#came];
    if (!other.delete(id)) known.add(id);
    this.arrived.value = this.#came.size;
    const index = this.indexOf(id);
    const card = this.#cards.get(index);
    const column = columnOf(to);
    if (card === undefined || column === "none" || to === null) return;
    const now = { state: to, column, since: at, worker: worker ?? card.worker };
    this.#cards.set(index, { ...card, ...now, fact: isHere ? card.fact : `went to ${column}` });
    this.version.value++;
  }

  forget(): void {
    this.#cards.clear();
    this.#came.clear();
    this.#left.clear();
    this.arrived.value = 0;
  }
}
