import type { AccountState } from "../../engines/accounts/account.ts";
import type { LedgerLine } from "../../queue/ledger.ts";

/** A time in which an account was closed; `to` null: until a person opens it. */
interface Closing {
  account: string;
  from: number;
  to: number | null;
}

export interface ShownClosing {
  account: string;
  from: string;
  to: string | null;
}

/** A run whose account closes every few minutes for a week. */
const MOST = 2_000;
/** The line in the ledger is written a moment after the account's file. */
const SAME_MS = 5_000;

/** When the accounts of a run's workers were closed, from the lines of its ledger. */
export class Closings {
  #all: Closing[] = [];

  add({ event, account, until }: LedgerLine, at: number): void {
    if (typeof account !== "string") return;
    this.#end(account, at);
    if (event !== "account_closed") return;
    const end = typeof until === "string" ? Date.parse(until) : Number.NaN;
    this.#all.push({ account, from: at, to: Number.isNaN(end) ? null : end });
    if (this.#all.length > MOST) this.#all.shift();
  }

  /** The last one of that account ended then, if not before. */
  #end(account: string, at: number): void {
    const last = this.#all.findLast((one) => one.account === account);
    if (last !== undefined && (last.to === null || last.to > at)) last.to = at;
  }

  /**
   * Those that reach into the period, oldest first, with what the accounts are now: a closing by another
   * run or a person is known only while it lasts, and so is the moment at which a person opened one.
   */
  since(start: number, now: readonly AccountState[]): ShownClosing[] {
    const states = new Map(now.map((one) => [one.account, one]));
    const past = this.#all.flatMap((one) => {
      const state = states.get(one.account);
      const since = state?.since ? Date.parse(state.since) : Number.NaN;
      if (state?.state !== "open") return one.from >= since - SAME_MS ? [] : [one];
      const isOpened = since >= one.from && (one.to === null || one.to > since);
      return [isOpened ? { ...one, to: since } : one];
    });
    const present = now.flatMap((one) =>
      one.state === "open"
        ? []
        : [{ account: one.account, from: Date.parse(one.since), to: timeOf(one.until) }],
    );
    return [...past, ...present]
      .filter(({ to }) => to === null || to >= start)
      .sort((a, b) => a.from - b.from)
      .map(({ account, from, to }) => ({
        account,
        from: iso(from),
        to: to === null ? null : iso(to),
      }));
  }
}

function timeOf(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
