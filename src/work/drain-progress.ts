import { formatCount } from "../base/amount.ts";
import { isName } from "../base/names.ts";
import type { Progressed } from "../operation/progress.ts";
import type { Store } from "../queue/store.ts";

const OPEN = ["pending", "waiting", "claimed"] as const;
/** More new tasks than this are read in one pass, which rests now and then. */
const FEW = 100;

/**
 * How far a drain is: of the tasks that it takes, those that were there when it began, or came since.
 * Each look lists the names of what is open; a task is opened once, and only where its type matters.
 */
export class DrainProgress {
  readonly #types: readonly string[] | null;
  readonly #taken = new Set<string>();
  readonly #others = new Set<string>();
  /** Of those it takes; null: it has not looked yet. */
  #open: Set<string> | null = null;
  /** Since the last look began: what it finds may be older. */
  readonly #ended = new Set<string>();
  readonly #failed = new Set<string>();

  /** Null: any type but those that are claimed only on request. */
  constructor(types: readonly string[] | null) {
    this.#types = types;
  }

  /** An attempt of this worker: its task may have come and gone between two looks. */
  ended(id: string, to: string | undefined): void {
    this.#failed.delete(id);
    if (to === "failed") this.#failed.add(id);
    if (to !== "failed" && to !== "done" && to !== "review") return;
    this.#taken.add(id);
    this.#ended.add(id);
    this.#open?.delete(id);
  }

  /** As the last look found it, and with what this worker has ended since. */
  now(): Progressed | null {
    if (this.#open === null) return null;
    const total = this.#taken.size;
    const failed = this.#failed.size;
    const note = failed > 0 ? `${formatCount(failed)} failed` : undefined;
    return { done: total - this.#open.size, total, note };
  }

  async look(store: Store): Promise<void> {
    this.#ended.clear();
    const open = new Set<string>();
    const unknown: string[] = [];
    for (const state of OPEN) {
      for (const id of await store.ids(state)) {
        if (this.#others.has(id)) continue;
        if (this.#taken.has(id)) open.add(id);
        else if (isName(id)) unknown.push(id); // else it is for other workers, which take such names
      }
    }
    await this.#sort(unknown, store);
    for (const id of unknown) if (this.#taken.has(id)) open.add(id);
    for (const id of this.#ended) open.delete(id);
    this.#open = open;
  }

  async #sort(ids: readonly string[], store: Store): Promise<void> {
    const types = this.#types;
    const put = (id: string, type: string | null) => {
      const isTaken = types?.includes(type ?? "") ?? !store.reservedTypes.includes(type ?? "");
      (isTaken ? this.#taken : this.#others).add(id);
    };
    if (types === null && store.reservedTypes.length === 0) {
      for (const id of ids) put(id, null);
    } else if (ids.length > FEW) {
      for await (const { id, type } of store.list({ states: OPEN })) if (isName(id)) put(id, type);
    } else {
      for (const id of ids) put(id, (await store.show(id))?.type ?? null);
    }
  }
}
