/** Into how many slots a period is divided. */
export const SLOTS = 24;

export interface Busy {
  /** Milliseconds since 1970: its first and its last moment of work in the period. */
  from: number;
  to: number;
  busyMs: number;
  /** Of each slot of the period, the share from 0 to 1 in which it worked. */
  slots: number[];
}

interface Worker extends Busy {
  /** Work that has begun and not ended: it may have several tasks at a time. */
  active: number;
  since: number;
}

/**
 * When each worker worked in a period, from the beginnings and ends of its tasks in the order in which they
 * happened: tasks side by side count once. Memory grows with the workers, not with their tasks.
 */
export class BusyTimes {
  readonly #start: number;
  readonly #end: number;
  readonly #all = new Map<string, Worker>();

  constructor(start: number, end: number) {
    this.#start = start;
    this.#end = Math.max(start, end);
  }

  begin(name: string, at: number): void {
    const worker = this.#of(name);
    if (worker.active++ === 0) worker.since = at;
  }

  end(name: string, at: number): void {
    const worker = this.#of(name);
    if (worker.active === 0 || --worker.active > 0) return;
    this.#add(worker, worker.since, at);
  }

  /** Work whose beginning and end are known at once. */
  add(name: string, from: number, to: number): void {
    this.#add(this.#of(name), from, to);
  }

  /** Those that worked in the period; the first to begin comes first. */
  all(): Map<string, Busy> {
    const worked = [...this.#all].filter(([, { to }]) => to >= 0);
    worked.sort(([a, x], [b, y]) => x.from - y.from || (a < b ? -1 : 1));
    return new Map(
      worked.map(([name, { from, to, busyMs, slots }]) => [name, { from, to, busyMs, slots }]),
    );
  }

  #of(name: string): Worker {
    const known = this.#all.get(name);
    if (known) return known;
    const slots = Array.from({ length: SLOTS }, () => 0);
    const worker = {
      from: Number.POSITIVE_INFINITY,
      to: -1,
      busyMs: 0,
      slots,
      active: 0,
      since: 0,
    };
    this.#all.set(name, worker);
    return worker;
  }

  #add(worker: Worker, begin: number, finish: number): void {
    const from = Math.max(begin, this.#start);
    const to = Math.min(finish, this.#end);
    if (finish < this.#start || begin > this.#end || to < from) return;
    worker.from = Math.min(worker.from, from);
    worker.to = Math.max(worker.to, to);
    worker.busyMs += to - from;
    const slotMs = (this.#end - this.#start) / SLOTS;
    if (slotMs === 0) return;
    const first = Math.min(SLOTS - 1, Math.floor((from - this.#start) / slotMs));
    for (let slot = first; slot < SLOTS; slot++) {
      const begins = this.#start + slot * slotMs;
      const part = Math.min(to, begins + slotMs) - Math.max(from, begins);
      if (part < 0) return;
      worker.slots[slot] = Math.min(1, (worker.slots[slot] ?? 0) + part / slotMs);
    }
  }
}
