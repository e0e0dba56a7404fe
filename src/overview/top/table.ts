import { formatUsd } from "../../base/amount.ts";
import { formatDuration } from "../../base/duration.ts";
import { widthOf } from "../../operation/term.ts";
import { STATE_STYLE } from "./header.ts";
import { bodyHeight, type Model, ofListed, tasksOf } from "./model.ts";
import { cell, type Line, type Span, type Style, span } from "./paint.ts";
import { NAMES } from "./rows.ts";
import type { Snapshot } from "./snapshot.ts";

/** The rows of a tab. Columns are as wide as what is shown in them; the last has the rest. */

interface Column<R> {
  name: string;
  /** Dropped first on a narrow terminal: those with the highest number. */
  rank: number;
  isRight?: boolean;
  text(row: R): string;
  styles?(row: R): Style[];
}

interface Table<R> {
  columns: readonly Column<R>[];
  rows: readonly R[];
  keyOf(row: R): string;
  /** What stands there when there are no rows. */
  empty: string;
}

export function tableLines(model: Model, now: number): { head: Line; body: Line[] } {
  const { snapshot, tab } = model;
  if (snapshot === null) return { head: [], body: [[span(" reading the run …", "dim")]] };
  switch (tab) {
    case "tasks":
      return drawn(taskTable(model, now), model);
    case "workers":
      return drawn(workerTable(snapshot), model);
    case "crew":
      return drawn(crewTable(snapshot, now), model);
    case "parts":
      return drawn(partTable(snapshot, now), model);
  }
}

const ageOf = (since: string, now: number) => {
  const at = Date.parse(since);
  return Number.isNaN(at) ? "" : formatDuration(now - at);
};

type TaskTable = Table<ReturnType<typeof tasksOf>[number]>;

function taskTable(model: Model, now: number): TaskTable {
  const hasPriority = (one: string | undefined) => one !== undefined && one !== "normal";
  return {
    rows: tasksOf(model),
    keyOf: ({ id }) => id,
    empty:
      model.filter === ""
        ? "no tasks yet; add one with: viv enqueue --type TYPE"
        : `${model.snapshot?.more ? ofListed(model) : "no task"} has all words of the filter; Esc shows all`,
    columns: [
      {
        name: "STATE",
        rank: 1,
        text: ({ state }) => NAMES[state],
        styles: ({ state }) => [STATE_STYLE[state]],
      },
      { name: "TASK", rank: 0, text: ({ branch, id }) => `${branch}${id}` },
      { name: "TYPE", rank: 3, text: ({ type }) => type ?? "" },
      {
        name: "PRI",
        rank: 5,
        text: ({ priority }) => (hasPriority(priority) ? String(priority) : ""),
      },
      { name: "AGE", rank: 2, isRight: true, text: ({ since }) => ageOf(since, now) },
      { name: "WORKER", rank: 4, text: ({ worker = "" }) => worker, styles: () => ["blue"] },
      { name: "TITLE", rank: 6, text: ({ title = "" }) => title },
    ],
  };
}

function workerTable({ workers }: Snapshot): Table<Snapshot["workers"][number]> {
  return {
    rows: workers,
    keyOf: ({ name }) => name,
    empty: "no worker has been here; start one with: viv work",
    columns: [
      { name: "WORKER", rank: 0, text: ({ name }) => name },
      {
        name: "STATE",
        rank: 1,
        text: workerState,
        styles: (worker) => [WORKER_STYLES[workerState(worker)]],
      },
      {
        name: "BEAT",
        rank: 2,
        isRight: true,
        text: ({ heartbeat_age: age }) => (age === null ? "" : formatDuration(age * 1000)),
      },
      { name: "TYPES", rank: 4, text: ({ types }) => types?.join(",") ?? "any" },
      { name: "TASKS", rank: 3, text: ({ claims }) => claims.join(" ") },
      { name: "NOTE", rank: 5, text: ({ note, claims }) => (claims.includes(note) ? "" : note) },
    ],
  };
}

type WorkerState = "working" | "paused" | "idle" | "silent";
const WORKER_STYLES = {
  ...{ working: "blue", paused: "yellow", idle: "green", silent: "red" },
} as const satisfies Record<WorkerState, Style>;

/** A paused one may still be at a task, and a silent one is both. */
function workerState({ alive, claims, paused }: Snapshot["workers"][number]): WorkerState {
  if (!alive && !paused) return "silent";
  return alive && claims.length > 0 ? "working" : paused ? "paused" : "idle";
}

function crewTable({ crew }: Snapshot, now: number): Table<NonNullable<Snapshot["crew"]>[number]> {
  const until = (at: string | null) => {
    const left = at === null ? Number.NaN : Date.parse(at) - now;
    return Number.isNaN(left) ? "" : left <= 0 ? "now" : formatDuration(left);
  };
  return {
    rows: crew ?? [],
    keyOf: ({ name }) => name,
    empty: "there is no crew here; start one with: viv crew up MANIFEST",
    columns: [
      { name: "MEMBER", rank: 0, text: ({ name }) => name },
      {
        name: "STATE",
        rank: 1,
        text: ({ state }) => state,
        styles: ({ state }) => CREW_STYLES[state] ?? [],
      },
      { name: "NEXT", rank: 2, isRight: true, text: ({ next_tick }) => until(next_tick) },
      { name: "STREAK", rank: 4, isRight: true, text: ({ streak }) => String(streak) },
      { name: "TODAY", rank: 3, isRight: true, text: ({ cost_today }) => formatUsd(cost_today) },
      { name: "THOUGHT", rank: 5, text: ({ thought, note }) => thought ?? note },
    ],
  };
}

const CREW_STYLES: Readonly<Record<string, Style[]>> = {
  ...{ running: ["blue"], checking: ["blue"], parked: ["red"] },
  ...{ paused: ["yellow"], held: ["yellow"], backing_off: ["yellow"] },
};

function partTable(
  { parts }: Snapshot,
  now: number,
): Table<NonNullable<Snapshot["parts"]>[number]> {
  return {
    rows: parts ?? [],
    keyOf: ({ name }) => name,
    empty: "viv up does not run here; start it with: viv up",
    columns: [
      { name: "PART", rank: 0, text: ({ name }) => name },
      { name: "STATE", rank: 1, text: ({ state }) => state },
      { name: "PID", rank: 4, isRight: true, text: ({ pid }) => (pid === null ? "" : String(pid)) },
      { name: "FOR", rank: 2, isRight: true, text: ({ since }) => ageOf(since, now) },
      { name: "RESTARTS", rank: 5, isRight: true, text: ({ restarts }) => String(restarts) },
      {
        name: "DOING",
        rank: 3,
        text: ({ doing, note }) => [doing, note].filter(Boolean).join("; "),
      },
    ],
  };
}

/** The sign of the cursor and of a tag: without colours too, it is seen what is chosen. */
const MARGIN = 2;
const GAP = 1;

function drawn<R>(table: Table<R>, model: Model): { head: Line; body: Line[] } {
  const { columns: width } = model.size;
  const { top, index } = model.cursor;
  if (table.rows.length === 0) return { head: [], body: [[], [span(` ${table.empty}`, "dim")]] };
  const rows = table.rows.slice(top, top + bodyHeight(model));
  const columns = fitting(table.columns, rows, width - MARGIN);
  const head = columns.map(({ column, width }) => cell(column.name, width, column.isRight));
  const body = rows.map((row, i): Line => {
    const isSelected = top + i === index;
    const isTagged = model.tab === "tasks" && model.tagged.has(table.keyOf(row));
    const base: Style[] = [
      ...(isTagged ? (["yellow"] as const) : []),
      ...(isSelected ? (["inverse"] as const) : []),
    ];
    const margin = span(`${isSelected ? ">" : " "}${isTagged ? "*" : " "}`, ...base);
    const cells = columns.flatMap(({ column, width }, at): Span[] => {
      const gap = at === 0 ? [] : [span(" ".repeat(GAP), ...base)];
      const styles = isTagged ? [] : (column.styles?.(row) ?? []);
      return [...gap, span(cell(column.text(row), width, column.isRight), ...styles, ...base)];
    });
    return [margin, ...cells];
  });
  return { head: [span(" ".repeat(MARGIN)), span(head.join(" ".repeat(GAP)))], body };
}

const LEAST_LAST = 12;

/** The columns that have room beside each other, and their widths; empty ones are left out. */
function fitting<R>(columns: readonly Column<R>[], rows: readonly R[], room: number) {
  const wide = columns.map((column) => {
    const texts = rows.map((row) => widthOf(column.text(row)));
    const most = Math.max(0, ...texts);
    return {
      column,
      width: most === 0 && column.rank > 1 ? 0 : Math.max(most, column.name.length),
    };
  });
  let kept = wide.filter(({ width }) => width > 0);
  const used = () => kept.reduce((sum, { width }) => sum + width + GAP, -GAP);
  const last = kept.at(-1);
  // The last is a sentence, or a list: it takes what is left, if that is enough to be read.
  if (last !== undefined && kept.length > 1 && !last.column.isRight) {
    const others = used() - last.width;
    if (room - others >= Math.min(LEAST_LAST, last.width)) last.width = Math.max(0, room - others);
  }
  while (used() > room && kept.length > 1) {
    const rank = Math.max(...kept.map(({ column }) => column.rank));
    kept = kept.filter(({ column }) => column.rank !== rank);
  }
  const [only] = kept;
  if (kept.length === 1 && only !== undefined) only.width = Math.max(1, room);
  return kept;
}
