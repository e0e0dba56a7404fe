import { formatCount } from "../../base/amount.ts";
import { counted } from "../../base/text.ts";
import { isAllowed, type TaskWord } from "../../queue/states.ts";
import type { Size } from "./host.ts";
import { NAMES, type ShownTask, SORTS, type Sort, shownTasks } from "./rows.ts";
import type { Details, Snapshot } from "./snapshot.ts";

/** What is on the screen, and what a key makes of it. Pure. */

export const TABS = ["tasks", "workers", "crew", "parts"] as const;
export type Tab = (typeof TABS)[number];

export type Verb = "cancel" | "retry" | "approve" | "pause" | "resume";

export interface Action {
  verb: Verb;
  ids: readonly string[];
}

export interface Model {
  size: Size;
  snapshot: Snapshot | null;
  tab: Tab;
  /** Of the tab that is shown. The row is found again by its key, so that it does not slip away. */
  cursor: { key: string | null; index: number; top: number };
  /** Of the tabs that were left. */
  kept: Partial<Record<Tab, Model["cursor"]>>;
  sort: Sort;
  isReversed: boolean;
  isTree: boolean;
  filter: string;
  /** A line that is being typed; `before`: what Esc brings back. */
  prompt: { kind: "filter" | "search"; text: string; before: string } | null;
  search: string;
  confirm: Action | null;
  overlay: "help" | "details" | null;
  scroll: number;
  details: Details | null;
  tagged: ReadonlySet<string>;
  notice: { text: string; isError: boolean } | null;
}

export type Event =
  | { kind: "key"; key: string }
  | { kind: "snapshot"; snapshot: Snapshot }
  | { kind: "details"; details: Details }
  | { kind: "size"; size: Size }
  | { kind: "notice"; text: string; isError: boolean };

export type Effect =
  | { kind: "quit" | "suspend" | "redraw" | "read" }
  | { kind: "act"; action: Action };

export type Step = readonly [Model, readonly Effect[]];

export function newModel(size: Size): Model {
  return {
    ...{ size, snapshot: null, tab: "tasks", cursor: FIRST, kept: {} },
    ...{ sort: "state", isReversed: false, isTree: false, filter: "", search: "" },
    ...{ prompt: null, confirm: null, overlay: null, scroll: 0, details: null },
    ...{ tagged: new Set<string>(), notice: null },
  };
}

/** The rows of the tab, by their keys. */
export function keysOf(model: Model): string[] {
  const { snapshot, tab } = model;
  if (snapshot === null) return [];
  if (tab === "tasks") return tasksOf(model).map(({ id }) => id);
  if (tab === "workers") return snapshot.workers.map(({ name }) => name);
  return (snapshot[tab] ?? []).map(({ name }) => name);
}

const shown = new WeakMap<Snapshot, { choice: string; tasks: ShownTask[] }>();

/** Kept while nothing changes: a frame asks for it more than once. */
export function tasksOf({ snapshot, filter, sort, isReversed, isTree }: Model): ShownTask[] {
  if (snapshot === null) return [];
  const choice = JSON.stringify([filter, sort, isReversed, isTree]);
  const known = shown.get(snapshot);
  if (known?.choice === choice) return known.tasks;
  const tasks = shownTasks(snapshot.tasks, { filter, sort, isReversed, isTree });
  shown.set(snapshot, { choice, tasks });
  return tasks;
}

/** The lines above and below the rows; on a low terminal the header gives way first. */
export function headerHeight({
  size: { rows },
  snapshot,
}: Pick<Model, "size" | "snapshot">): number {
  const notes = (snapshot?.paused ? 1 : 0) + (snapshot?.note ? 1 : 0);
  if (rows >= 16) return 4 + notes;
  return rows >= 10 ? 2 + notes : rows >= 6 ? 1 : 0;
}

/** Besides the header: the tabs, the names of the columns, the keys. */
export function bodyHeight(model: Pick<Model, "size" | "snapshot">): number {
  const others = model.size.rows >= 6 ? 3 : 1;
  return Math.max(1, model.size.rows - headerHeight(model) - others);
}

export function update(model: Model, event: Event): Step {
  switch (event.kind) {
    case "key":
      return settled(onKey(model, event.key));
    case "snapshot":
      return settled([{ ...model, snapshot: event.snapshot }, []]);
    case "details":
      return [{ ...model, details: event.details }, []];
    case "size":
      return settled([{ ...model, size: event.size }, [{ kind: "redraw" }]]);
    case "notice":
      return [{ ...model, notice: { text: event.text, isError: event.isError } }, []];
  }
}

/** With the cursor on its row, and that on the screen. */
function settled([model, effects]: Step): Step {
  const keys = keysOf(model);
  const { key, index: before, top: topBefore } = model.cursor;
  const found = key === null ? -1 : keys.indexOf(key);
  const index = Math.max(0, Math.min(keys.length - 1, found >= 0 ? found : before));
  const height = bodyHeight(model);
  const lowest = Math.max(0, Math.min(topBefore, keys.length - height));
  const top = Math.min(index, Math.max(lowest, index - height + 1));
  // The first row stays the first one, whichever it is.
  const cursor = { key: index === 0 && key === null ? null : (keys[index] ?? null), index, top };
  return [{ ...model, cursor }, effects];
}

export function selected(model: Model): string | null {
  return keysOf(model)[model.cursor.index] ?? null;
}

const READ: readonly Effect[] = [{ kind: "read" }];

function onKey(model: Model, key: string): Step {
  if (key === "ctrl-c") return [model, [{ kind: "quit" }]];
  if (key === "ctrl-z") return [model, [{ kind: "suspend" }]];
  if (key === "ctrl-l") return [model, [{ kind: "redraw" }]];
  if (model.confirm !== null) return answered(model, model.confirm, key);
  if (model.prompt !== null) return typed(model, model.prompt, key);
  if (model.overlay !== null) return overlaid(model, key);
  return command({ ...model, notice: null }, key);
}

function answered(model: Model, action: Action, key: string): Step {
  const asked = { ...model, confirm: null };
  if (key === "y" || key === "Y")
    return [{ ...asked, tagged: new Set() }, [{ kind: "act", action }]];
  if (["n", "N", "escape", "q", "enter"].includes(key)) return [asked, []];
  return [model, []];
}

function typed(model: Model, prompt: NonNullable<Model["prompt"]>, key: string): Step {
  if (key === "enter") return [{ ...model, prompt: null }, []];
  if (key === "escape") return withText({ ...model, prompt: null }, prompt.kind, prompt.before);
  const { text } = prompt;
  const [...characters] = text;
  const next = key === "backspace" ? characters.slice(0, -1).join("") : text + key;
  // Names of keys, such as "up", are longer than a character.
  if (key !== "backspace" && [...key].length !== 1) return [model, []];
  return withText({ ...model, prompt: { ...prompt, text: next } }, prompt.kind, next);
}

function withText(model: Model, kind: "filter" | "search", text: string): Step {
  if (kind === "filter") return [{ ...model, filter: text, cursor: FIRST }, []];
  return [found({ ...model, search: text }, 0), []];
}

const FIRST: Model["cursor"] = { key: null, index: 0, top: 0 };

/** The next row that has the searched text, from `from` rows below the cursor on. */
function found(model: Model, from: number): Model {
  const wanted = model.search.toLowerCase();
  if (wanted === "") return model;
  const texts = textsOf(model);
  for (let i = 0; i < texts.length; i++) {
    const index = (model.cursor.index + from + i) % texts.length;
    if (texts[index]?.toLowerCase().includes(wanted)) return at(model, index);
  }
  const text = JSON.stringify(model.search);
  const more = model.tab === "tasks" ? (model.snapshot?.more ?? 0) : 0;
  const none =
    more === 0 ? `no row has ${text}` : `${ofListed(model)} has ${text}; try: viv show ID`;
  return { ...model, notice: { text: none, isError: true } };
}

/** Where not all tasks are listed, nothing is said of the others. */
export function ofListed({ snapshot }: Pick<Model, "snapshot">): string {
  const { tasks = [], more = 0 } = snapshot ?? {};
  return `none of the ${formatCount(tasks.length)} listed of ${counted(tasks.length + more, "task", formatCount)}`;
}

function textsOf(model: Model): string[] {
  if (model.tab !== "tasks") return keysOf(model);
  return tasksOf(model).map(
    ({ id, type, worker = "", title = "" }) => `${id} ${type ?? ""} ${worker} ${title}`,
  );
}

function at(model: Model, index: number): Model {
  const keys = keysOf(model);
  const place = Math.max(0, Math.min(keys.length - 1, index));
  return { ...model, cursor: { ...model.cursor, index: place, key: keys[place] ?? null } };
}

function overlaid(model: Model, key: string): Step {
  const page = Math.max(1, model.size.rows - 4);
  const by = { up: -1, k: -1, down: 1, j: 1, pageup: -page, pagedown: page, " ": page }[key];
  if (by !== undefined) return [{ ...model, scroll: Math.max(0, model.scroll + by) }, []];
  if (key === "home") return [{ ...model, scroll: 0 }, []];
  if (["q", "escape", "enter", "f1", "h", "?", "f10"].includes(key)) {
    return [{ ...model, overlay: null, scroll: 0, details: null }, []];
  }
  return model.overlay === "details" ? acted(model, key) : [model, []];
}

function command(model: Model, key: string): Step {
  const { index } = model.cursor;
  const page = bodyHeight(model);
  switch (key) {
    case "q":
    case "f10":
      return [model, [{ kind: "quit" }]];
    case "f1":
    case "h":
    case "?":
      return [{ ...model, overlay: "help", scroll: 0 }, []];
    case "up":
    case "k":
      return [at(model, index - 1), []];
    case "down":
    case "j":
      return [at(model, index + 1), []];
    case "pageup":
      return [at(model, index - page), []];
    case "pagedown":
      return [at(model, index + page), []];
    case "home":
    case "g":
      return [{ ...model, cursor: FIRST }, []];
    case "end":
    case "G":
      return [at(model, Number.MAX_SAFE_INTEGER), []];
    case "tab":
    case "right":
      return switched(model, 1);
    case "backtab":
    case "left":
      return switched(model, -1);
    case "f3":
    case "/":
      return [{ ...model, prompt: { kind: "search", text: "", before: model.search } }, []];
    case "n":
      return [found(model, 1), []];
    case "escape":
      return [{ ...model, filter: "", tagged: new Set() }, []];
    case "enter": {
      const isTask = model.tab === "tasks" && selected(model) !== null;
      return isTask ? [{ ...model, overlay: "details", scroll: 0 }, READ] : [model, []];
    }
    default:
      return model.tab === "tasks" ? taskCommand(model, key) : acted(model, key);
  }
}

function switched(model: Model, by: number): Step {
  const tab = TABS[(TABS.indexOf(model.tab) + by + TABS.length) % TABS.length] ?? "tasks";
  const kept = { ...model.kept, [model.tab]: model.cursor };
  return [{ ...model, tab, kept, cursor: kept[tab] ?? FIRST }, READ];
}

function taskCommand(model: Model, key: string): Step {
  switch (key) {
    case "f4":
    case "\\":
      return [
        { ...model, prompt: { kind: "filter", text: model.filter, before: model.filter } },
        [],
      ];
    case "f5":
    case "t":
      return [{ ...model, isTree: !model.isTree }, READ];
    case "f6":
    case ">":
      return sortedBy(model, 1);
    case "<":
      return sortedBy(model, -1);
    case "I":
      return [{ ...model, isReversed: !model.isReversed }, []];
    case " ":
      return tag(model);
    case "U":
      return [{ ...model, tagged: new Set() }, []];
    default:
      return acted(model, key);
  }
}

function sortedBy(model: Model, by: number): Step {
  const sort = SORTS[(SORTS.indexOf(model.sort) + by + SORTS.length) % SORTS.length] ?? "state";
  const notice = { text: `sorted by ${sort}`, isError: false };
  return [{ ...model, sort, notice }, []];
}

function tag(model: Model): Step {
  const key = selected(model);
  if (key === null) return [model, []];
  const tagged = new Set(model.tagged);
  if (!tagged.delete(key)) tagged.add(key);
  return [at({ ...model, tagged }, model.cursor.index + 1), []];
}

const VERBS: Readonly<Record<string, Exclude<Verb, "resume">>> = {
  ...{ f9: "cancel", x: "cancel", r: "retry", a: "approve", p: "pause" },
};

/** Every action is asked back: a key is pressed by accident. */
function acted(model: Model, key: string): Step {
  const verb = VERBS[key];
  if (verb === undefined) return [model, []];
  if (verb === "pause") {
    const isPaused = model.snapshot?.paused != null;
    return [{ ...model, confirm: { verb: isPaused ? "resume" : "pause", ids: [] } }, []];
  }
  if (model.tab !== "tasks") return [model, []];
  const one = selected(model);
  const meant =
    model.overlay === null && model.tagged.size > 0 ? [...model.tagged] : one ? [one] : [];
  if (meant.length === 0) return [model, []];
  const words = new Map(model.snapshot?.tasks.map(({ id, state }) => [id, state]));
  const ids = meant.filter((id) => mayBe(verb, words.get(id)));
  if (ids.length > 0) return [{ ...model, confirm: { verb, ids } }, []];
  const [id = ""] = meant;
  const word = words.get(id);
  const none = "none of the tagged tasks can";
  const which = meant.length > 1 ? none : `${id}${word ? ` (${NAMES[word]})` : ""} cannot`;
  const text = `${which} be ${DONE[verb]}`;
  return [{ ...model, notice: { text, isError: true } }, []];
}

const DONE = { cancel: "cancelled", retry: "retried", approve: "approved" } as const;

/** One that is not listed any more is asked about: its state is not known. */
function mayBe(verb: keyof typeof DONE, word: TaskWord | undefined): boolean {
  return word === undefined || isAllowed(word === "cancelled" ? "failed" : word, verb);
}

/** The question before an action. */
export function question({ verb, ids }: Action): string {
  if (verb === "pause") return "pause the run, so that nothing more is claimed?";
  if (verb === "resume") return "let the run go on?";
  const [first = ""] = ids;
  return `${verb} ${ids.length === 1 ? first : counted(ids.length, "tagged task")}?`;
}
