import { setImmediate as turn } from "node:timers/promises";
import { Counter, Gauge, Registry } from "prom-client";
import type { LedgersNews } from "../ledger/follow.ts";
import type { Store } from "../queue/store.ts";
import type { FollowLedgers } from "./event-hub.ts";
import { LedgerMetrics } from "./ledger-metrics.ts";
import { LiveCounts } from "./live-counts.ts";
import type { GateFacts } from "./server-host.ts";

export interface MetricsAround {
  store(): Promise<Store>;
  followIn(store: Store): Promise<FollowLedgers>;
  gates(store: Store): Promise<readonly GateFacts[]>;
  branchesLeft(store: Store, hasLanded: (task: string) => boolean): Promise<number>;
  streams(): number;
  version: string;
}

/** What is known of one store; another one begins anew. */
interface Known {
  store: Store;
  registry: Registry;
  fromLedger: LedgerMetrics;
  ledgers: LedgersNews;
  counts: LiveCounts;
  gauges: ReturnType<typeof gaugesIn>;
  /** Scrapes that still count branches; below 0: scrapes since the last that did. */
  looks: number;
}

/** Branches, a file for each, are counted after news of the ledger, and else once in so many scrapes. */
const LOOK_AGAIN = 10;

/**
 * `GET /metrics`. The first scrape reads the ledgers once; later ones only what is new, so that each
 * costs a few milliseconds however many tasks there are. After news, branches that have not landed add
 * their files, in slices.
 */
export class Metrics {
  readonly #around: MetricsAround;
  #known: Known | null = null;
  #reading: Promise<string> | null = null;

  constructor(around: MetricsAround) {
    this.#around = around;
  }

  /** Concurrent scrapes share one. */
  text(): Promise<string> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(): Promise<string> {
    const store = await this.#around.store();
    if (this.#known?.store !== store) this.#known = await this.#begin(store);
    const { fromLedger, ledgers, counts, gauges, registry } = this.#known;
    let n = 0;
    for await (const { line } of ledgers.news()) {
      fromLedger.add(line);
      if (++n % 500 === 0) await turn();
    }
    counts.doubt();
    const [tasks, paused] = [await counts.read(), await store.paused()];
    for (const [state, count] of Object.entries(tasks)) gauges.tasks.set({ state }, count);
    gauges.paused.set(paused === null ? 0 : 1);
    gauges.streams.set(this.#around.streams());
    for (const { gate, max, used, waiting, longestMs } of await this.#around.gates(store)) {
      gauges.slots.set({ gate }, max ?? Number.POSITIVE_INFINITY);
      gauges.used.set({ gate }, used);
      gauges.waiting.set({ gate }, waiting);
      gauges.longest.set({ gate }, longestMs / 1000);
    }
    // A line comes before its task has moved.
    if (n > 0) this.#known.looks = 2;
    else if (this.#known.looks <= 0 - LOOK_AGAIN) this.#known.looks = 1;
    if (this.#known.looks-- > 0) {
      gauges.mergeQueue.set(
        await this.#around.branchesLeft(store, (task) => fromLedger.hasLanded(task)),
      );
    }
    gauges.memory.set(process.memoryUsage.rss());
    const { user, system } = process.cpuUsage();
    gauges.cpu.reset();
    gauges.cpu.inc((user + system) / 1e6);
    return registry.metrics();
  }

  async #begin(store: Store): Promise<Known> {
    const registry = new Registry();
    const gauges = gaugesIn(registry);
    gauges.build.set({ version: this.#around.version }, 1);
    return {
      ...{ store, registry, gauges, counts: new LiveCounts(store), looks: 1 },
      fromLedger: new LedgerMetrics(registry),
      ledgers: (await this.#around.followIn(store))({ from: "start" }),
    };
  }
}

function gaugesIn(registry: Registry) {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  return {
    tasks: gauge("viv_tasks", "Tasks by state", ["state"]),
    paused: gauge("viv_paused", "1 while the run is paused"),
    slots: gauge("viv_gate_slots", "Slots for engines", ["gate"]),
    used: gauge("viv_gate_slots_used", "Slots that are held", ["gate"]),
    waiting: gauge("viv_gate_waiting", "Runs that wait for a slot", ["gate"]),
    longest: gauge("viv_gate_longest_wait_seconds", "Of those, the longest wait", ["gate"]),
    mergeQueue: gauge("viv_merge_queue", "Done tasks whose branch is in no target yet"),
    streams: gauge("viv_event_streams", "Open streams of /events"),
    build: gauge("viv_build_info", "1, with the version", ["version"]),
    memory: gauge("process_resident_memory_bytes", "Memory of the server"),
    cpu: new Counter({
      ...{ name: "process_cpu_seconds_total", help: "CPU time of the server" },
      registers: [registry],
    }),
  };
}
