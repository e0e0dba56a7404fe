import { join } from "node:path";
import { LedgerWriter } from "../../ledger/writer.ts";

/**
 * Something worth looking at, as it happens. It is a line of the run's ledger, room `demo`, event
 * `moment`: the page shows it as a caption with a link, the terminal as a line. See docs/spec/demo.md.
 */
export interface Moment {
  /** Once in a demo. */
  key: MomentKey;
  text: string;
  /** A view of the page, without its `#/`; null: it is nowhere in particular. */
  link: string | null;
  /** What shows the same in a terminal. */
  command: string | null;
}

/** In about the order in which they happen. */
export const MOMENTS = [
  "up", // the fleet runs
  "claimed", // the first task has a worker
  "proven", // the first proof passed
  "landed", // the first branch is in main
  "unproven", // a proof failed, the task goes back
  "mended", // and passed at the next attempt
  "conflict", // two branches changed one line: one goes back
  "resolved", // and has landed
  "eaten", // the pit's first food is done
  "published", // the newsroom's first story
  "killed", // kill -9 of a worker
  "taken_back", // its claim
  "recovered", // another worker did the task
  "asked", // the warden asks two agents in tmux
  "pardoned", // one answered
  "executed", // the other did not; there is a receipt
  "review", // a task waits for the person
  "seen", // all of it has happened
] as const;
export type MomentKey = (typeof MOMENTS)[number];

/** Of a world without tmux. */
export const WITH_TMUX: readonly MomentKey[] = ["asked", "pardoned", "executed"];

export class Moments {
  readonly #ledger: LedgerWriter;
  readonly #told = new Set<MomentKey>();
  #count = 0;
  readonly #onMoment: (moment: Moment) => void;

  constructor(run: string, onMoment: (moment: Moment) => void) {
    this.#ledger = new LedgerWriter(join(run, "ledger"));
    this.#onMoment = onMoment;
  }

  has(key: MomentKey): boolean {
    return this.#told.has(key);
  }

  get missing(): MomentKey[] {
    return MOMENTS.filter((key) => key !== "seen" && !this.#told.has(key));
  }

  /** The first of its kind counts. */
  tell(
    key: MomentKey,
    text: string,
    link: string | null = null,
    command: string | null = null,
  ): void {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    const moment: Moment = { key, text, link, command };
    const at = new Date().toISOString();
    const line = {
      at,
      room: "demo",
      event: "moment",
      agent: "demo",
      n: ++this.#count,
      ...moment,
    };
    this.#ledger.append(at, JSON.stringify(line), false);
    this.#onMoment(moment);
  }

  /** It cannot happen here. */
  skip(key: MomentKey): void {
    this.#told.add(key);
  }

  close(): void {
    this.#ledger.close();
  }
}

export function taskLink(id: string): string {
  return `task/${encodeURIComponent(id)}`;
}
