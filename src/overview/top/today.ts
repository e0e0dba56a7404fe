import { dollarsOf, LedgerTotals } from "../../engines/costs/ledger-totals.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import type { LedgerNews, Store } from "../../queue/store.ts";

const MINUTE = 60_000;

type Ledger = Pick<Store, "ledger" | "followLedger">;

/** What the ledger says of today (UTC) and of the last minute. Read once, then only what is new. */
export class Today {
  readonly #store: Ledger;
  readonly #onLine: (line: LedgerLine) => void;
  #news: LedgerNews | null = null;
  #day = "";
  #totals = new LedgerTotals([]);
  /** Times of the events of the last minute. */
  #events: number[] = [];

  constructor(store: Ledger, onLine: (line: LedgerLine) => void) {
    this.#store = store;
    this.#onLine = onLine;
  }

  get usd(): number {
    return dollarsOf(this.#totals.total());
  }

  get eventsPerMinute(): number {
    return this.#events.length;
  }

  async look(now: number): Promise<void> {
    const day = new Date(now).toISOString().slice(0, 10);
    if (day !== this.#day) this.#totals = new LedgerTotals([]);
    this.#day = day;
    if (this.#news === null) {
      for await (const line of this.#store.ledger({ since: `${day}T00:00:00.000Z` })) {
        this.#add(line, Date.parse(line.at));
      }
      this.#news = this.#store.followLedger({ from: "end" });
    }
    for await (const { line } of this.#news.news()) {
      this.#add(line, now);
      this.#onLine(line);
    }
    const first = this.#events.findIndex((at) => at > now - MINUTE);
    this.#events = first < 0 ? [] : this.#events.slice(first);
  }

  #add(line: LedgerLine, at: number): void {
    this.#totals.add(line);
    // At the first look most are old: not all of a day is kept until the end of it.
    if (this.#events.length > 10_000 && (this.#events[5_000] ?? 0) < at - MINUTE)
      this.#events.splice(0, 5_000);
    this.#events.push(at);
  }
}
