/** Which rows of fixed height are seen, by arithmetic. */

/** Rows drawn beyond each edge, so that a frame of scrolling shows no gap. */
const BEYOND = 3;

export interface RowWindow {
  /** Drawn: from `start` up to, and without, `end`. */
  start: number;
  end: number;
  /** Seen whole, counted from 1; 0 and 0 where there is none. */
  first: number;
  last: number;
}

export function rowWindow(
  scrollTop: number,
  viewport: number,
  rowHeight: number,
  total: number,
): RowWindow {
  const top = Math.max(0, scrollTop);
  const start = Math.min(Math.max(0, Math.floor(top / rowHeight) - BEYOND), total);
  const end = Math.min(total, Math.ceil((top + viewport) / rowHeight) + BEYOND);
  const last = Math.min(total, Math.floor((top + viewport) / rowHeight));
  const first = Math.min(last, Math.ceil(top / rowHeight) + 1);
  // A window lower than a row still shows one.
  if (total > 0 && last < first) return { start, end, first, last: first };
  return total === 0 ? { start: 0, end: 0, first: 0, last: 0 } : { start, end, first, last };
}

/** No window of this viewport has more rows. */
export function mostRows(viewport: number, rowHeight: number): number {
  return Math.ceil(viewport / rowHeight) + 1 + 2 * BEYOND;
}

/** The numbers of the pages that hold rows from `start` up to `end`. */
export function pagesOf(start: number, end: number, size: number): number[] {
  if (end <= start) return [];
  const first = Math.floor(start / size);
  const last = Math.floor((end - 1) / size);
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/** Where to scroll so that a row is seen, moving as little as possible. */
export function scrollToRow(
  index: number,
  rowHeight: number,
  scrollTop: number,
  viewport: number,
): number {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + viewport ? top + rowHeight - viewport : scrollTop;
}
