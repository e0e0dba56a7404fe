import { isRecord, parseRecord } from "../../base/json.ts";
import { budgetSection } from "../../engines/costs/config-costs.ts";
import { gatePort } from "../../gate/operations.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import type { RunContext } from "../../queue/operation.ts";
import { countsInWords } from "../../queue/schemas.ts";
import { wordOf } from "../../queue/states.ts";
import type { Counts } from "../../queue/store.ts";
import type { Task } from "../../queue/task.ts";
import { remarkIn } from "../../work/remark.ts";
import { lying, workersOf } from "../operations.ts";
import { titleOf } from "../report/read-run.ts";
import { reportPort } from "../report/report-port.ts";
import type { TopHost } from "./host.ts";
import type { Tab } from "./model.ts";
import { ORDER } from "./rows.ts";
import type { CrewRow, PartRow, Snapshot, TaskRow } from "./snapshot.ts";
import { Today } from "./today.ts";

/** Of each state: more than a person scrolls through; a run may have 100,000. */
export const MOST_LISTED = 1_000;
/** Of more than that many, only their names are read, in the order of the disk. */
const MOST_SORTED = 5_000;
/** Files of tasks that are opened in one look; those on the screen come first. */
const MOST_OPENED = 300;
const MOST_KNOWN = 20_000;
/** A part that was read is read again after so many times the time that it took: a twentieth of a core. */
const REST = 20;
/** Without news: other programs may move tasks without a line in the ledger. */
const LONGEST_REST_MS = 10_000;

/** What the screen needs besides the counts. */
export interface Wish {
  tab: Tab;
  /** Tasks that are on the screen. */
  visible: readonly string[];
  isTree: boolean;
  /** Something is to be seen at once: the ledger of a long day takes a second. */
  isFirst?: boolean;
}

type Facts = Pick<TaskRow, "type" | "priority" | "title" | "above">;

/** Reads a run again and again; only what may have changed, and no part of it all the time. */
export class TopReader {
  readonly #context: RunContext;
  readonly #host: TopHost;
  readonly #today: Today;
  readonly #facts = new Map<string, Facts>();
  readonly #steps = new Map<string, string>();
  #counts: Paced<Counts>;
  #tasks: Paced<TaskRow[]>;
  #isOther: Paced<Pick<Snapshot, "crew" | "parts">>;
  #wish: Wish = { tab: "tasks", visible: [], isTree: false };

  constructor(context: RunContext, host: TopHost) {
    const { store } = context;
    this.#context = context;
    this.#host = host;
    this.#today = new Today(store, (line) => this.#hear(line));
    this.#counts = new Paced(async () => countsInWords(await store.counts()));
    this.#tasks = new Paced(() => this.#list());
    this.#isOther = new Paced(() => this.#others());
  }

  async read(wish: Wish): Promise<Snapshot> {
    if (wish.tab !== this.#wish.tab) this.#isOther.expire();
    // The run's ledger says nothing of a crew, and of a part only that it came or went.
    if (wish.tab === "crew" || wish.tab === "parts") this.#isOther.mayChange();
    this.#wish = wish;
    const { store, now, here } = this.#context;
    if (!wish.isFirst) await this.#today.look(now());
    const counts = await this.#counts.get();
    const rows = await this.#tasks.get();
    await this.#open(rows, wish);
    const tasks = rows.map((row) => this.#known(row));
    const listed = ORDER.reduce((sum, word) => sum + counts[word], 0);
    const budget = here.config?.section(budgetSection).day.usd ?? null;
    const workers = await workersOf(store);
    return {
      ...{ run_id: store.runId, run_dir: store.location, at: new Date(now()).toISOString() },
      counts,
      paused: await store.paused(),
      note: await this.#note(workers),
      events_per_minute: this.#today.eventsPerMinute,
      cost: { usd: this.#today.usd, budget },
      gate: await this.#gate(),
      tasks,
      more: Math.max(0, listed - tasks.length),
      workers,
      ...(await this.#isOther.get()),
    };
  }

  /** After an action: the next look is at all of it. */
  expire(): void {
    for (const one of [this.#counts, this.#tasks, this.#isOther]) one.expire();
  }

  #hear(line: LedgerLine): void {
    const { event, task } = line;
    if (event === "step") {
      const step = stepOf(line);
      if (task !== undefined && step !== "") this.#steps.set(task, step);
      return;
    }
    this.#counts.mayChange();
    this.#tasks.mayChange();
    if (task === undefined) return;
    if (event === "ended") this.#steps.delete(task);
    if (event === "enqueued" || event === "adopted") this.#facts.delete(task);
  }

  /** Names and ages, without a look into the files. */
  async #list(): Promise<TaskRow[]> {
    const { store } = this.#context;
    const counts = await this.#counts.get();
    const rows: TaskRow[] = [];
    for (const word of ORDER) {
      if (counts[word] === 0) continue;
      const query = {
        ...{ limit: MOST_LISTED, unopened: true, sorted: counts[word] <= MOST_SORTED },
        ...lying(word),
      };
      for await (const task of store.list(query)) {
        const { id, since, worker } = task;
        rows.push({ id, type: null, state: wordOf(task), since, worker });
      }
    }
    return rows;
  }

  /** Looks into files of tasks that are not known yet. */
  async #open(rows: readonly TaskRow[], { visible, isTree }: Wish): Promise<void> {
    const { store } = this.#context;
    if (this.#facts.size > MOST_KNOWN) this.#facts.clear();
    const wanted = new Set([...visible, ...rows.map(({ id }) => id)]);
    let left = isTree ? MOST_OPENED * ORDER.length : MOST_OPENED;
    for (const id of wanted) {
      if (this.#facts.has(id)) continue;
      if (left-- <= 0) return;
      this.#facts.set(id, factsOf(parseRecord((await store.source(id)) ?? "")));
    }
  }

  #known(row: TaskRow): TaskRow {
    const { type = null, priority, title, above } = this.#facts.get(row.id) ?? {};
    const step = row.state === "claimed" ? this.#steps.get(row.id) : undefined;
    return { ...row, type, priority, above, title: step === undefined ? title : `▸ ${step}` };
  }

  async #note(workers: Snapshot["workers"]): Promise<string | null> {
    const { store, use } = this.#context;
    const ofUp = (await use(reportPort)).upNote(store.location);
    const said = workers.map(({ alive, note }) => (alive ? remarkIn(note) : null));
    return ofUp ?? said.find((one) => one !== null) ?? null;
  }

  async #gate(): Promise<Snapshot["gate"]> {
    const { machine } = await this.#context.use(gatePort);
    const { max, holders, queue } = machine.view();
    return { max, held: holders.length, queued: queue.length };
  }

  async #others(): Promise<Pick<Snapshot, "crew" | "parts">> {
    const ask = async (operation: "crew ps" | "ps") => {
      const answer = await this.#host.ask(operation, this.#context);
      return isRecord(answer) ? answer : null;
    };
    const crew = (await ask("crew ps"))?.members as CrewRow[] | undefined;
    const parts = (await ask("ps"))?.parts as PartRow[] | undefined;
    return { crew: crew?.map(crewRow) ?? null, parts: parts?.map(partRow) ?? null };
  }
}

/** Only what is shown, whatever else the answers have. */
function crewRow({ name, state, since, note, next_tick, streak, cost_today, thought }: CrewRow) {
  return { name, state, since, note, next_tick, streak, cost_today, thought };
}

function partRow({ name, kind, state, since, pid, restarts, doing, note }: PartRow) {
  return { name, kind, state, since, pid, restarts, doing, note };
}

/** Of a task's file; of one that cannot be read: nothing. */
function factsOf(task: Record<string, unknown> | null): Facts {
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  const { task_type, priority, parent, depends_on } = task ?? {};
  const needs = Array.isArray(depends_on)
    ? depends_on.filter((one) => typeof one === "string")
    : [];
  const above = [...(text(parent) ? [String(parent)] : []), ...needs];
  return {
    type: text(task_type) ?? null,
    priority: text(priority),
    title: task === null ? undefined : titleOf(task as unknown as Task),
    above: above.length > 0 ? above : undefined,
  };
}

function stepOf(line: LedgerLine): string {
  const { kind, tool, target, text } = line as Partial<Record<string, unknown>>;
  const words = kind === "tool" ? [tool, target ?? text] : [text];
  return words.filter((word) => typeof word === "string" && word !== "").join(" ");
}

/** A value that is read when it may have changed, and not more often than it is worth. */
class Paced<T> {
  readonly #read: () => Promise<T>;
  #value: { now: T } | undefined;
  #isStale = true;
  #readAt = 0;
  #restsUntil = 0;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  mayChange(): void {
    this.#isStale = true;
  }

  expire(): void {
    this.#isStale = true;
    this.#restsUntil = 0;
  }

  async get(): Promise<T> {
    const begin = performance.now();
    const isDue = this.#isStale || begin - this.#readAt > LONGEST_REST_MS;
    if (this.#value !== undefined && (!isDue || begin < this.#restsUntil)) return this.#value.now;
    this.#isStale = false;
    this.#value = { now: await this.#read() };
    this.#readAt = performance.now();
    this.#restsUntil = this.#readAt + REST * (this.#readAt - begin);
    return this.#value.now;
  }
}
