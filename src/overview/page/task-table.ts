import { PRIORITIES } from "../../base/priority.ts";
import { priorityOf, type Task } from "../../queue/task.ts";
import { titleOf } from "../report/read-run.ts";
import { type Column, Entry, UNDATED } from "./entry.ts";
import { Views } from "./views.ts";

/** Where a task is. */
export interface Place {
  column: Column | null;
  /** In milliseconds since 1970. */
  since: number;
  worker?: string;
  isCancelled: boolean;
}

/** The tasks of a run, their links, and the lists that they stand in; each change keeps all of it in step. */
export class TaskTable {
  readonly entries = new Map<string, Entry>();
  readonly views = new Views();
  /** How many tasks of each type there are, and how many each worker holds. */
  readonly types = new Map<string, number>();
  readonly holders = new Map<string, number>();
  /** One object for equal names. */
  readonly #names = new Map<string, string>();
  /** Done tasks without an entry yet: a hundred thousand entries take longer than the rest of a first page. */
  readonly #undated = new Set<string>();

  /** Of a task that is only named so far, a new one without a column. */
  entry(id: string): Entry {
    const known = this.entries.get(id);
    if (known !== undefined) return known;
    const entry = new Entry(id);
    this.entries.set(id, entry);
    if (this.#undated.delete(id)) {
      entry.column = "done";
      entry.since = UNDATED;
      entry.views |= this.views.all.bit;
    }
    return entry;
  }

  /** Undefined for a task that no file, no other task and no line has named. */
  find(id: string): Entry | undefined {
    return this.#undated.has(id) ? this.entry(id) : this.entries.get(id);
  }

  /** A done task of which only the name is known. False: it is known already. */
  addUndated(id: string): boolean {
    if (this.entries.has(id) || this.#undated.has(id)) return false;
    this.#undated.add(id);
    this.views.all.undated++;
    return true;
  }

  /** Done tasks that have no time yet. */
  undatedIds(): Set<string> {
    const ids = new Set(this.#undated);
    for (const entry of this.entries.values()) if (entry.isUndated) ids.add(entry.id);
    return ids;
  }

  /** A new one, which `views.fill` puts into its list: for many that far cheaper than one by one. */
  placeNew(entry: Entry, { column, since, worker, isCancelled }: Place): void {
    entry.column = column;
    entry.since = since;
    entry.holder = column === "working" ? this.#interned(worker ?? null) : null;
    entry.isCancelled = isCancelled;
    count(this.holders, entry.holder, 1);
    if (column !== null) count(this.types, entry.type, 1);
  }

  place(entry: Entry, { column, since, worker, isCancelled }: Place): void {
    const holder = column === "working" ? this.#interned(worker ?? null) : null;
    const isSame = entry.column === column && entry.since === since && entry.holder === holder;
    if (isSame && entry.isCancelled === isCancelled) return;
    if (entry.holder !== holder) {
      count(this.holders, entry.holder, -1);
      count(this.holders, holder, 1);
    }
    if ((entry.column === null) !== (column === null)) {
      count(this.types, entry.type, column === null ? -1 : 1);
    }
    this.views.move(entry, () => {
      entry.column = column;
      entry.since = since;
      entry.holder = holder;
      entry.isCancelled = isCancelled;
    });
  }

  /** As its file has it; null: that cannot be read. */
  describe(entry: Entry, task: Task | null): void {
    entry.isRead = true;
    const type = task === null ? null : String(task.task_type);
    if (type !== entry.type && entry.column !== null) {
      count(this.types, entry.type, -1);
      count(this.types, type, 1);
    }
    this.views.move(entry, () => {
      entry.type = this.#interned(type);
      entry.title = titleOf(task);
      entry.priority = task === null ? 1 : PRIORITIES.indexOf(priorityOf(task));
      entry.maxAttempts = typeof task?.max_attempts === "number" ? task.max_attempts : null;
      entry.notBefore = Date.parse(String(task?.not_before ?? "")) || 0;
    });
    this.#setNeeds(entry, task?.depends_on ?? []);
    if (typeof task?.parent === "string") this.setParent(entry, task.parent);
  }

  setParent(child: Entry, id: string): void {
    if (child.parent?.id === id || child.id === id) return;
    const parent = this.entry(id);
    if (child.parent !== null) without(child.parent.children, child);
    child.parent = parent;
    if (parent.children === null) parent.children = [child];
    else parent.children.push(child);
  }

  #setNeeds(entry: Entry, given: readonly string[]): void {
    const ids = [...new Set(given)];
    const same = (entry.needs ?? []).map(({ id }) => id);
    if (same.length === ids.length && same.every((id, i) => id === ids[i])) return;
    for (const need of entry.needs ?? []) without(need.neededBy, entry);
    entry.needs = ids.length === 0 ? null : ids.map((id) => this.entry(id));
    for (const need of entry.needs ?? []) {
      if (need.neededBy === null) need.neededBy = [entry];
      else need.neededBy.push(entry);
    }
  }

  #interned(name: string | null): string | null {
    if (name === null) return null;
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#names.set(name, name);
    return name;
  }
}

function count(counts: Map<string, number>, key: string | null, by: number): void {
  if (key === null) return;
  const n = (counts.get(key) ?? 0) + by;
  if (n > 0) counts.set(key, n);
  else counts.delete(key);
}

function without(entries: Entry[] | null, entry: Entry): void {
  const at = entries?.indexOf(entry) ?? -1;
  if (at >= 0) entries?.splice(at, 1);
}
