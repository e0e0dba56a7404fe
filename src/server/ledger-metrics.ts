import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { setBounded } from "../base/bounded-map.ts";
import type { Entry } from "../ledger/line.ts";
import { AttemptBills, wordOf } from "./attempt-bills.ts";

/** A claim or a task that is not heard of again is forgotten at last. */
const MOST_OPEN = 200_000;
const SECONDS = [0.1, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];

/**
 * Counters from the lines of the ledgers, each of which comes once. They are the same after a restart
 * of the server, which reads the ledgers anew.
 */
export class LedgerMetrics {
  readonly #attempts: Counter;
  readonly #events: Counter;
  readonly #running: Histogram;
  readonly #waited: Histogram;
  readonly #bills: AttemptBills;
  readonly #ticks: Counter;
  readonly #dances: Counter;
  readonly #landings: Gauge;
  /** Begin of each claim, by its task and token; of each wait, by its task. */
  readonly #claims = new Map<string, number>();
  readonly #waits = new Map<string, number>();
  readonly #landingOf = new Map<string, string>();
  readonly #label = { room: few(), event: few(), outcome: few(), engine: few(), model: few() };

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = (name: string, help: string, labelNames: string[]) =>
      new Counter({ name, help, labelNames, registers });
    const histogram = (name: string, help: string) =>
      new Histogram({ name, help, buckets: SECONDS, registers });
    this.#attempts = counter("viv_attempts_total", "Attempts that ended, by outcome", ["outcome"]);
    this.#events = counter("viv_events_total", "Lines of the ledgers", ["room", "event"]);
    this.#running = histogram("viv_attempt_seconds", "Time from a claim to the end of its attempt");
    this.#waited = histogram("viv_wait_seconds", "Time that a task was pending before its claim");
    const usd = counter("viv_usd_total", "Dollars of model runs", ["engine", "model"]);
    const kinds = ["engine", "model", "kind"];
    const tokens = counter("viv_tokens_total", "Tokens of model runs", kinds);
    const bills = new AttemptBills((engine, model, kind, amount) => {
      const labels = { engine: this.#label.engine(engine), model: this.#label.model(model) };
      if (kind === "usd") usd.inc(labels, amount);
      else tokens.inc({ ...labels, kind }, amount);
    });
    this.#bills = bills;
    new Gauge({
      name: "viv_usd_running",
      help: "Dollars of attempts that run, which are in viv_usd_total when they have ended",
      registers,
      collect() {
        this.set(bills.running);
      },
    });
    this.#ticks = counter("viv_crew_ticks_total", "Ticks of crew members, by outcome", ["outcome"]);
    this.#dances = counter("viv_dances_total", "The warden's dances, by verdict", ["verdict"]);
    const help = "Tasks by the last thing that happened to their landing";
    this.#landings = new Gauge({ name: "viv_landings", help, labelNames: ["state"], registers });
  }

  add(line: Entry): void {
    const { event, room } = line;
    if (/^[a-z_]{1,30}$/.test(room) && /^[a-z_]{1,30}$/.test(event))
      this.#events.inc({ room: this.#label.room(room), event: this.#label.event(event) });
    if (room === "queue") this.#ofTask(line);
    else if (room === "crew" && event === "tick_ended") {
      this.#ticks.inc({ outcome: this.#label.outcome(wordOf(line.outcome)) });
    } else if (room === "warden" && VERDICTS.has(event)) this.#dances.inc({ verdict: event });
  }

  hasLanded(task: string): boolean {
    return this.#landingOf.get(task) === "landed";
  }

  #ofTask(line: Entry): void {
    const { event, task, to } = line;
    const at = Date.parse(line.at);
    if (task === undefined) return; // as in `viv costs`; all of them would be one attempt
    const claim = `${task} ${textOf(line.token) ?? ""}`; // claims of one moment share a token
    this.#bills.add(claim, line);
    if (Number.isNaN(at)) return;
    if (event === "claimed") {
      observe(this.#waited, this.#waits, task, at);
      remember(this.#claims, claim, at);
    } else if (event === "ended") {
      this.#attempts.inc({ outcome: this.#label.outcome(wordOf(line.outcome)) });
      observe(this.#running, this.#claims, claim, at);
    }
    const isPending = to === "pending" || (event === "enqueued" && to === undefined);
    if (isPending) remember(this.#waits, task, at);
    const landing = LANDINGS[event];
    if (landing !== undefined) this.#landed(task, landing);
  }

  /** Of an earlier state it is one less. */
  #landed(task: string, state: string): void {
    const before = this.#landingOf.get(task);
    if (before !== undefined) this.#landings.dec({ state: before });
    this.#landings.inc({ state });
    remember(this.#landingOf, task, state);
  }
}

/** Programs of others name models and outcomes, and each new value is a series for good. */
const MOST_VALUES = 100;

/** The first values of a label as they are, all others as `other`. */
function few(): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.size < MOST_VALUES) known.add(value);
    return known.has(value) ? value : "other";
  };
}

const VERDICTS: ReadonlySet<string> = new Set(["pardoned", "executed", "already_dead", "failed"]);
const LANDINGS: Readonly<Record<string, string>> = {
  ...{ landed: "landed", conflict: "conflict", merge_red: "merge_red", needs_you: "needs_you" },
  ...{ held: "held", pr_opened: "pull_request", pr_closed: "closed", reworked: "reworked" },
};

function observe(to: Histogram, open: Map<string, number>, key: string, at: number): void {
  const begin = open.get(key);
  if (begin === undefined) return;
  open.delete(key);
  to.observe(Math.max(0, (at - begin) / 1000));
}

function remember<T>(open: Map<string, T>, key: string, value: T): void {
  setBounded(open, key, value, MOST_OPEN);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
