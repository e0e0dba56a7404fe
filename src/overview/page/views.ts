import { Slices } from "../../platform/slices.ts";
import { COLUMNS, type Column, compareIn, type Entry } from "./entry.ts";
import { filterKey, type Matches, parseFilter } from "./filter.ts";
import { SortedChunks } from "./sorted-chunks.ts";

/** The tasks that a filter lets through, in columns. */
export class View {
  readonly columns: Record<Column, SortedChunks<Entry>>;
  readonly matches: Matches;
  readonly bit: number;
  /** Done tasks whose time is not known yet: they count, and stand in no order. */
  undated = 0;
  /** All tasks were looked at. */
  ready: Promise<void> = Promise.resolve();
  /** Its bit is another's now. */
  isDropped = false;

  constructor(bit: number, matches: Matches) {
    this.bit = bit;
    this.matches = matches;
    const columns = COLUMNS.map((column) => [column, new SortedChunks(compareIn(column))]);
    this.columns = Object.fromEntries(columns);
  }

  counts(): Record<Column, number> {
    return Object.fromEntries(COLUMNS.map((column) => [column, this.count(column)])) as never;
  }

  count(column: Column): number {
    return this.columns[column].size + (column === "done" ? this.undated : 0);
  }

  /** Whether such a window can be shown: undated tasks come behind those that have a time. */
  has(column: Column, end: number): boolean {
    const { size } = this.columns[column];
    return end <= size || size === this.count(column);
  }

  add(entry: Entry): void {
    if (entry.column === null || (entry.views & this.bit) !== 0) return;
    if (entry.isUndated) this.undated++;
    else this.columns[entry.column].add(entry);
    entry.views |= this.bit;
  }

  remove(entry: Entry): void {
    if (entry.column === null || (entry.views & this.bit) === 0) return;
    if (entry.isUndated) this.undated--;
    else this.columns[entry.column].remove(entry);
    entry.views &= ~this.bit;
  }

  /** After a change that leaves it in its place. */
  check(entry: Entry): void {
    const isIn = (entry.views & this.bit) !== 0;
    if (this.matches(entry) === isIn) return;
    if (isIn) this.remove(entry);
    else this.add(entry);
  }
}

/** Filters whose lists are kept: of a few people, each with a window or two. */
const MOST_VIEWS = 6;

/** The whole board, and the lists of the filters that were last asked for; each follows every change. */
export class Views {
  readonly all = new View(1, () => true);
  /** The one asked for last is at the end. */
  readonly #filtered = new Map<string, View>();

  /** Changes where it stands, or any key of its order. */
  move(entry: Entry, change: () => void): void {
    this.all.remove(entry);
    for (const view of this.#filtered.values()) view.remove(entry);
    change();
    this.all.add(entry);
    for (const view of this.#filtered.values()) if (view.matches(entry)) view.add(entry);
  }

  /** Entries that stand nowhere yet. One that was moved meanwhile has its place. */
  fill(entries: readonly Entry[]): void {
    if (this.#filtered.size > 0) {
      for (const entry of entries) this.move(entry, () => {});
      return;
    }
    for (const column of COLUMNS) {
      const here = entries.filter((entry) => entry.column === column && entry.views === 0);
      for (const entry of here) entry.views |= this.all.bit;
      this.all.columns[column].fill(here);
    }
  }

  /** Gives undated tasks their times; none of them is shown with a filter yet. */
  date(times: ReadonlyMap<Entry, number>): void {
    const dated: Entry[] = [];
    for (const [entry, since] of times) {
      if (!entry.isUndated) continue; // it was moved meanwhile, and has its own
      entry.since = since;
      dated.push(entry);
    }
    this.all.undated -= dated.length;
    this.all.columns.done.fill(dated);
  }

  /** After a change of its other facts. */
  check(entry: Entry): void {
    for (const view of this.#filtered.values()) view.check(entry);
  }

  /** The first time, all tasks are looked at, in slices; changes meanwhile count. */
  async of(filter: string): Promise<View> {
    const key = filterKey(filter);
    const matches = parseFilter(key);
    if (matches === null) return this.all;
    for (;;) {
      let view = this.#filtered.get(key);
      this.#filtered.delete(key);
      const isNew = view === undefined;
      view ??= new View(this.#freeBit(), matches);
      this.#filtered.set(key, view);
      if (isNew) view.ready = this.#fill(view);
      await view.ready;
      if (!view.isDropped) return view; // else many others were asked for meanwhile
    }
  }

  async #fill(view: View): Promise<void> {
    const slices = new Slices();
    for (const column of COLUMNS) {
      // Once all are dated. A copy: the list may change between two slices. Items that left the column are in their new one.
      for (const entry of [...this.all.columns[column]]) {
        if (view.isDropped) return;
        if (view.matches(entry)) view.add(entry);
        await slices.rest();
      }
    }
  }

  #freeBit(): number {
    const used = new Set([...this.#filtered.values()].map(({ bit }) => bit));
    for (let bit = 2; bit <= 2 ** MOST_VIEWS; bit *= 2) if (!used.has(bit)) return bit;
    const [key, oldest] = this.#filtered.entries().next().value as [string, View];
    this.#filtered.delete(key);
    oldest.isDropped = true;
    for (const column of COLUMNS) {
      for (const entry of oldest.columns[column]) entry.views &= ~oldest.bit;
    }
    return oldest.bit;
  }
}
