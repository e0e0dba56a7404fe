import { dollarsOf, LedgerTotals } from "../../engines/costs/ledger-totals.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import type { LedgerNews, Store } from "../../queue/store.ts";

const MINUTE = 60_000;

type Ledger = Pick<Store, "followLedger">;

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
    // One reading from the begin of the day on: what is written meanwhile comes with the next look.
    const isFirst = this.#news === null;
    this.#news ??= this.#followFrom(day);
    for await (const { line } of this.#news.news()) {
      this.#add(line, isFirst ? Date.parse(line.at) : now);
      if (!isFirst) this.#onLine(line);
    }
    const first = this.#events.findIndex((at) => at > now - MINUTE);
    this.#events = first < 0 ? [] : this.#events.slice(first);
  }

  #followFrom(day: string): LedgerNews {
    const end = this.#store.followLedger({ from: "end" }).position();
    return this.#store.followLedger({ from: { ...end, [`${day}.jsonl`]: 0 } });
  }

  #add(line: LedgerLine, at: number): void {
    this.#totals.add(line);
    // At the first look most are old: not all of a day is kept until the end of it.
    if (this.#events.length > 10_000 && (this.#events[5_000] ?? 0) < at - MINUTE)
      this.#events.splice(0, 5_000);
    this.#events.push(at);
  }
}
