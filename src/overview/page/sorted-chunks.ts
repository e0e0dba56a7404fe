/** So many in a chunk: a splice inside one is a copy of a few kilobytes. */
const MOST = 512;

/**
 * A sorted list that is read by position and changed one by one: chunks of sorted items. With 100,000
 * items a change or a window touches a few hundred of them. No two items may compare as equal.
 */
export class SortedChunks<T> {
  readonly #compare: (a: T, b: T) => number;
  readonly #chunks: T[][] = [];
  #size = 0;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    this.#size++;
    const at = this.#chunkFor(item);
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([item]);
      return;
    }
    chunk.splice(this.#placeIn(chunk, item), 0, item);
    if (chunk.length <= MOST) return;
    // Items often come in order: a full last chunk is left full.
    const isLast = at === this.#chunks.length - 1;
    this.#chunks.splice(at + 1, 0, chunk.splice(isLast ? MOST : MOST / 2));
  }

  /** Many at once: for more than there are, a sort is a fraction of as many insertions. */
  fill(items: readonly T[]): void {
    if (items.length <= this.#size) {
      for (const item of items) this.add(item);
      return;
    }
    const all = [...this, ...items].sort(this.#compare);
    this.#chunks.length = 0;
    for (let at = 0; at < all.length; at += MOST) this.#chunks.push(all.slice(at, at + MOST));
    this.#size = all.length;
  }

  /** By its keys, which must be those with which it was added. False: it is not there. */
  remove(item: T): boolean {
    const at = this.#chunkFor(item);
    const chunk = this.#chunks[at];
    const place = chunk === undefined ? -1 : this.#placeIn(chunk, item);
    if (chunk === undefined || chunk[place] !== item) return false;
    chunk.splice(place, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    this.#size--;
    return true;
  }

  window(offset: number, limit: number): T[] {
    const items: T[] = [];
    let skip = offset;
    for (const chunk of this.#chunks) {
      if (items.length >= limit) break;
      if (skip >= chunk.length) {
        skip -= chunk.length;
        continue;
      }
      items.push(...chunk.slice(skip, skip + limit - items.length));
      skip = 0;
    }
    return items;
  }

  *[Symbol.iterator](): Generator<T> {
    for (const chunk of this.#chunks) yield* chunk;
  }

  /** The first chunk whose last item is not before it; the last one, if all are. */
  #chunkFor(item: T): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      const last = this.#chunks[middle]?.at(-1) as T;
      if (this.#compare(last, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #placeIn(chunk: readonly T[], item: T): number {
    let low = 0;
    let high = chunk.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(chunk[middle] as T, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
