import { isName } from "../../base/names.ts";
import { Slices } from "../../platform/slices.ts";
import type { Change, LedgerNews, Store } from "../../queue/store.ts";
import { AnswersFirst } from "./answers-first.ts";
import { ChangesInReview } from "./changes.ts";
import { columnOf, type Entry } from "./entry.ts";
import { LedgerFacts } from "./ledger-facts.ts";
import { type ListedStore, Listing } from "./listing.ts";
import { TaskTable } from "./task-table.ts";

/** What the index reads of a run. */
export type IndexedStore = ListedStore & Pick<Store, "show" | "followLedger" | "watch" | "folder">;

/**
 * The tasks of a run in memory, for a page that shows any window of any column at once.
 *
 *   listed   every task has its column: counts are right, and windows but for old done tasks
 *   dated    done tasks have their times: all windows are right
 *   read     the tasks' files and the ledger were read as well: titles, types, filters, facts
 *
 * The folders are the truth about places, the task files about tasks, the ledger about the rest. A change
 * only names a task to look at, so a late or doubled one does no harm. Everything goes in slices.
 */
export class RunIndex {
  readonly table = new TaskTable();
  readonly facts: LedgerFacts;
  readonly changes = new ChangesInReview();
  /** Answers that read what they show: the reading of the rest waits for them. */
  readonly answers = new AnswersFirst();
  readonly #listing: Listing;
  readonly #store: IndexedStore;
  readonly #ledger: LedgerNews;
  readonly #stop = new AbortController();
  /** Tasks to look at. */
  readonly #suspects = new Set<string>();
  #listed: Promise<void> | null = null;
  #dated: Promise<void> | null = null;
  #complete: Promise<void> | null = null;
  #settling: Promise<void> | null = null;
  #isStale = false;
  #isComplete = false;
  /** Of tasks that came with a listing, after the first reading. */
  #readingRest: Promise<void> | null = null;
  #read = 0;

  constructor(store: IndexedStore, { fewDone }: { fewDone?: number } = {}) {
    this.#store = store;
    const doubt = (id: string) => void this.#suspects.add(id);
    const { table, answers } = this;
    this.#listing = new Listing({ store, table, answers, doubt, fewDone });
    this.#ledger = store.followLedger();
    this.facts = new LedgerFacts(
      (id) => this.table.entry(id),
      (child, parent) => this.table.setParent(child, parent),
    );
  }

  /** Reads the run once. */
  static async read(store: IndexedStore): Promise<RunIndex> {
    const index = new RunIndex(store);
    await index.complete();
    return index;
  }

  /**
   * Follows the run until `stop`, and lists it; files and the ledger are read from the first `complete()`
   * on. `onError`: the watch has ended; what is shown is no longer up to date.
   */
  start(onError: (error: unknown) => void = () => {}): void {
    void this.#follow().catch(onError);
    const offNews = this.#ledger.onNews(() => this.#noteNews());
    this.#stop.signal.addEventListener("abort", offNews);
    this.listed().catch(onError);
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Every task has its column. */
  listed(): Promise<void> {
    this.#listed ??= this.#listing.list().then(() => this.#lookAtSuspects());
    return this.#listed;
  }

  /** Every done task has its time as well. */
  dated(): Promise<void> {
    this.#dated ??= this.listed()
      .then(() => this.#listing.date())
      .then(() => this.#lookAtSuspects());
    return this.#dated;
  }

  /** The files are being read, or were. */
  get isBegun(): boolean {
    return this.#complete !== null;
  }

  /** All files and the ledger were read. */
  complete(): Promise<void> {
    this.#complete ??= this.#readAll();
    return this.#complete;
  }

  /** How far the reading is; null when it is over. */
  reading(): { read: number; total: number } | null {
    if (this.#isComplete && this.#readingRest === null) return null;
    const total = Object.values(this.table.views.all.counts()).reduce((sum, n) => sum + n, 0);
    return { read: Math.min(this.#read, total), total };
  }

  /** A change in the run. The task is looked at before the next answer. */
  note(change: Change): void {
    if (change.kind === "task") this.#suspects.add(change.id);
    else if (change.kind === "missed") this.#isStale = true;
  }

  /** After the changes that were noted until now. */
  async settled(): Promise<void> {
    await this.listed();
    const under = this.#settling;
    await under;
    // What was noted while that was under way may have come too late for it.
    if (under !== null && !this.#isStale && this.#suspects.size === 0) return;
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = null;
    });
    await this.#settling;
  }

  /** Looks at the file of each that was not read yet: for the few that are shown. */
  async readNow(entries: Iterable<Entry>): Promise<void> {
    await this.answers.answer(async () => {
      for (const entry of entries) if (!entry.isRead) await this.#look(entry.id);
    });
  }

  async #follow(): Promise<void> {
    for await (const change of this.#store.watch({ signal: this.#stop.signal })) {
      this.note(change);
      if (this.#isComplete) void this.settled().catch(() => {}); // the next answer tries again
    }
  }

  #noteNews(): void {
    if (this.#isComplete) void this.settled().catch(() => {}); // the next answer tries again
  }

  async #settle(): Promise<void> {
    if (this.#isStale) {
      this.#isStale = false;
      await this.#listing.list().catch((error: unknown) => {
        this.#isStale = true; // the next answer tries again
        throw error;
      });
      if (this.#isComplete) this.#readingRest ??= this.#readRest();
    }
    await this.#lookAtSuspects();
    if (this.#isComplete) await this.#readLedger();
  }

  async #lookAtSuspects(): Promise<void> {
    const slices = new Slices();
    for (const id of this.#suspects) {
      this.#suspects.delete(id);
      await this.#look(id).catch((error: unknown) => {
        this.#suspects.add(id); // the next answer tries again
        throw error;
      });
      await slices.rest();
    }
  }

  async #readAll(): Promise<void> {
    await this.dated();
    await this.#readFiles();
    await this.#readLedger();
    this.#isComplete = true;
  }

  async #readFiles(): Promise<void> {
    for (const state of ["claimed", "review", "failed", "waiting", "pending", "done"] as const) {
      for await (const { id, task } of this.#store.list({ states: [state], tasks: true })) {
        const entry = this.table.entries.get(id);
        if (this.#isStopped) return;
        if (entry !== undefined && !entry.isRead) this.table.describe(entry, task ?? null);
        this.#read++;
        await this.answers.pause();
      }
    }
  }

  /** Not awaited by an answer: there may be as many as in a whole run. */
  async #readRest(): Promise<void> {
    const slices = new Slices();
    this.#read = 0;
    try {
      for (const entry of this.table.entries.values()) {
        this.#read++;
        if (this.#isStopped) return;
        if (entry.column !== null && !entry.isRead) await this.#look(entry.id);
        await slices.rest();
      }
    } catch {
      // A folder cannot be read just now: each is read when it is shown.
    } finally {
      this.#readingRest = null;
    }
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #readLedger(): Promise<void> {
    const slices = new Slices();
    for await (const { line } of this.#ledger.news()) {
      if (this.#isStopped) return;
      const entry = this.facts.add(line);
      if (entry !== null) this.table.views.check(entry);
      await slices.rest();
    }
  }

  /** Where it is now, and what its file says. */
  async #look(id: string): Promise<void> {
    const view = isName(id) ? await this.#store.show(id) : null;
    const entry = this.table.entry(id);
    const column = columnOf(view?.state ?? null);
    this.table.place(entry, {
      column,
      since: Date.parse(view?.since ?? "") || 0,
      worker: view?.worker,
      isCancelled: view?.cancelled === true,
    });
    if (column !== "working") this.facts.doing.delete(id);
    if (view !== null && column !== null) this.table.describe(entry, view.task);
  }
}
