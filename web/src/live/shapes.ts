import type { Column } from "../parts/glyph.tsx";

/** What the operations of docs/spec/page.md answer. */

export interface Card {
  id: string;
  type: string | null;
  column: Column;
  state: string;
  since: string;
  title: string | null;
  fact: string | null;
  worker: string | null;
  attempt: number | null;
  max_attempts: number | null;
  proof: "passed" | "failed" | null;
  landing: string | null;
  usd: number | null;
  priority: string | null;
  cancelled: boolean;
}

export interface CardWindow {
  column: Column;
  offset: number;
  total: number;
  cards: Card[];
}

export interface Cards {
  /** Of the filter, and of all. */
  counts: Record<Column, number>;
  all: Record<Column, number>;
  types: { type: string; count: number }[];
  workers: { worker: string; count: number }[];
  windows: CardWindow[];
  /** While the server still reads the run. */
  reading: { read: number; total: number } | null;
}

export interface Neighbour {
  id: string;
  type: string | null;
  column: Column | null;
  title: string | null;
}

export interface Neighbours {
  needs: Neighbour[];
  needed_by: Neighbour[];
  parent: Neighbour | null;
  children: Neighbour[];
  more: { needs: number; needed_by: number; children: number };
}

export interface Span {
  task: string;
  from: string;
  /** Null: it still runs. */
  to: string | null;
  outcome: string | null;
  attempt: number;
  /** It failed, and the task was, or will be, tried again. */
  again: boolean;
}

export interface Lane {
  name: string;
  kind: string;
  spans: Span[];
}

export interface Timeline {
  since: string;
  until: string;
  lanes: Lane[];
  buckets: { at: string; proven: number; done: number; failed: number; other: number }[];
  kills: { name: string; at: string; warrant: string | null }[];
  closed: { account: string; from: string; to: string | null }[];
}
