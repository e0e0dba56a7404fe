import { setImmediate } from "node:timers/promises";
import { linesBackFrom } from "../../ledger/back.ts";
import { followLedgers } from "../../ledger/follow.ts";
import { TASK_STATES, type TaskState } from "../../queue/states.ts";
import type { Store } from "../../queue/store.ts";
import type { AnswersFirst } from "./answers-first.ts";
import { columnOf, type Entry } from "./entry.ts";
import type { TaskTable } from "./task-table.ts";

export type ListedStore = Pick<Store, "ids" | "list" | "ledgerFolder">;

export interface ListingAround {
  store: ListedStore;
  table: TaskTable;
  answers: AnswersFirst;
  /** The file of a task is to be looked at. */
  doubt(id: string): void;
  /** So many done tasks are dated with the others. */
  fewDone?: number;
}

const FEW_DONE = 2_000;
/** A window of the board, and some that have moved on. */
const NEWEST = 60;
const NOT_DONE = ["waiting", "pending", "claimed", "review", "failed"] as const;

/**
 * The places of all tasks, from the folders. In a long run most tasks are done, and a look at each of
 * those files takes longer than everything else that a first page needs: the first listing has only
 * their names, and the times of those that the ledger names last. `date` adds the other times.
 */
export class Listing {
  readonly #around: ListingAround;
  #count = 0;

  constructor(around: ListingAround) {
    this.#around = around;
  }

  async list(): Promise<void> {
    const { table, doubt } = this.#around;
    const listing = ++this.#count;
    if (listing === 1) {
      await this.#place(listing, NOT_DONE);
      await this.#nameDone();
    } else {
      await this.#place(listing, TASK_STATES);
      for (const id of table.undatedIds()) doubt(id);
    }
    for (const entry of table.entries.values()) {
      // Moved on while the folders were listed, or gone.
      if (entry.column !== null && entry.seenIn < listing) doubt(entry.id);
    }
  }

  /** The times of done tasks that have none yet. */
  async date(): Promise<void> {
    const { store, table, answers, doubt } = this.#around;
    if (table.views.all.undated === 0) return;
    const times = new Map<Entry, number>();
    for await (const { id, since } of store.list({ states: ["done"], unopened: true })) {
      const entry = table.find(id);
      if (entry?.isUndated) times.set(entry, Date.parse(since));
      await answers.pause();
    }
    table.views.date(times);
    // Those that left done/ in between.
    for (const id of table.undatedIds()) doubt(id);
  }

  async #place(listing: number, states: readonly TaskState[]): Promise<void> {
    const { store, table, doubt } = this.#around;
    const fresh: Entry[] = [];
    for await (const one of store.list({ states, unopened: true })) {
      const { id, state, since, worker, cancelled } = one;
      const entry = table.entry(id);
      // Its file is in two states: it is where `show` finds it.
      if (entry.seenIn === listing) doubt(id);
      entry.seenIn = listing;
      const place = {
        ...{ column: columnOf(state), since: Date.parse(since) },
        ...{ worker, isCancelled: cancelled === true },
      };
      if (listing > 1 || entry.column !== null) table.place(entry, place);
      else {
        table.placeNew(entry, place);
        fresh.push(entry);
      }
    }
    table.views.fill(fresh);
  }

  async #nameDone(): Promise<void> {
    const { store, table, doubt, fewDone = FEW_DONE } = this.#around;
    // One that is known already was listed in another state: it is where `show` finds it.
    for (const id of await store.ids("done")) if (!table.addUndated(id)) doubt(id);
    if (table.views.all.undated <= fewDone) return this.date();
    for (const id of await newestDone(store.ledgerFolder, NEWEST)) {
      if (table.find(id)?.isUndated) doubt(id);
    }
  }
}

/** So many lines are looked at: a tenth of a second. */
const MOST_LINES = 100_000;
const TURN_LINES = 5_000;

/** The tasks that came to done last, by the end of the run's ledger; at most `count`. */
async function newestDone(ledgerFolder: string, count: number): Promise<Set<string>> {
  const ids = new Set<string>();
  const sources = [{ name: "run", folder: ledgerFolder, room: "queue" }];
  const to = followLedgers(sources).position();
  let lines = 0;
  const mayMatch = (text: string) => text.includes('"done"');
  for (const line of linesBackFrom(sources, { to, mayMatch })) {
    if (line?.to === "done" && typeof line.task === "string") ids.add(line.task);
    if (ids.size >= count || ++lines >= MOST_LINES) break;
    if (lines % TURN_LINES === 0) await setImmediate();
  }
  return ids;
}
