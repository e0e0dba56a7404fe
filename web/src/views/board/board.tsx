import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { count, counted } from "../../parts/format.ts";
import { COLUMN_LABEL, COLUMNS, type Column, Glyph } from "../../parts/glyph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure } from "../../parts/panel.tsx";
import { useKeys } from "../../shell/keys.tsx";
import { NewTaskButton } from "../../shell/new-task.tsx";
import { openTask, param, setParams, showTask } from "../../shell/router.ts";
import { Main, TopBar } from "../../shell/top-bar.tsx";
import { NoTask } from "../overview/no-task.tsx";
import { siblings } from "../task/siblings.ts";
import "./board.css";
import { BoardData } from "./board-data.ts";
import { BoardColumn } from "./column.tsx";
import { Filters } from "./filters.tsx";
import { boardFocus } from "./focus.ts";

/** Kept while another view is open: the board comes back as it was. */
const data = new BoardData();

export function Board() {
  const filter = param("filter");
  const first = useFirstColumn();
  const shown = COLUMNS.find((column) => column === param("col")) ?? first;
  const columns = useRef<HTMLDivElement>(null);
  // Before the frame is drawn: the server works meanwhile.
  useLayoutEffect(() => {
    data.start(filter);
    return () => data.stop();
  }, []);
  useEffect(() => {
    if (!data.setFilter(filter)) return;
    boardFocus.value = { ...boardFocus.peek(), index: 0, isAsked: false };
  }, [filter]);
  useBoardKeys(shown);
  useShownColumn(columns.current);
  const { all, counts, isHeld, reading, error } = data;
  const total = sum(all.value);
  const found = sum(counts.value);
  const isEmpty = all.value !== null && total === 0 && reading.value === null;
  const arrived = COLUMNS.reduce((n, column) => n + data.columns[column].arrived.value, 0);
  const sub =
    all.value === null
      ? ""
      : filter === ""
        ? counted(total, "task")
        : `${count(found)} of ${counted(total, "task")}`;
  return (
    <>
      <TopBar title="Board" sub={sub}>
        {reading.value !== null && (
          <span class="t3 sm desk">
            reading {count(reading.value.read)} of {count(reading.value.total)}
          </span>
        )}
        <button
          type="button"
          class="btn quiet"
          aria-pressed={isHeld.value}
          title="Keep every card where it is (P)"
          onClick={() => data.hold(!isHeld.value)}
        >
          <Icon name={isHeld.value ? "play" : "pause"} size={14} />
          {isHeld.value ? `Go on${arrived > 0 ? `, ${count(arrived)} new` : ""}` : "Hold"}
        </button>
        <NewTaskButton />
      </TopBar>
      <Main className="board">
        {isEmpty ? (
          <NoTask text="The run is there, and empty. The board fills by itself as soon as a task is there." />
        ) : (
          <>
            <Switcher shown={shown} />
            <Filters data={data} />
            {error.value && <Failure error={error.value} retry={() => data.refreshSoon()} />}
            <div class="cols" ref={columns}>
              {COLUMNS.map((column) => (
                <BoardColumn key={column} column={column} data={data} isShown={column === shown} />
              ))}
            </div>
          </>
        )}
      </Main>
    </>
  );
}

function sum(counts: Record<Column, number> | null): number {
  return counts === null ? 0 : Object.values(counts).reduce((a, b) => a + b, 0);
}

/** On a phone, where one column is shown. */
function Switcher({ shown }: { shown: Column }) {
  return (
    <div class="switcher">
      {COLUMNS.map((column) => (
        <button
          key={column}
          type="button"
          aria-pressed={column === shown}
          onClick={() => setParams({ col: column })}
        >
          <Glyph tone={column} />
          <b>{data.counts.value === null ? "–" : count(data.counts.value[column])}</b>
          {COLUMN_LABEL[column]}
        </button>
      ))}
    </div>
  );
}

/** What a phone begins with: the first of these that has a task. It stays, whatever happens then. */
const FIRST: readonly Column[] = ["review", "working", "failed", "ready", "waiting", "done"];

function useFirstColumn(): Column {
  const chosen = useRef<Column | undefined>(undefined);
  chosen.current ??= FIRST.find((column) => (data.counts.value?.[column] ?? 0) > 0);
  return chosen.current ?? "review";
}

function hasCards(column: Column): boolean {
  return data.columns[column].total.value > 0;
}

function useBoardKeys(shown: Column): void {
  const openFocused = () => {
    const { column, index } = boardFocus.value;
    const card = data.columns[column].at(index);
    if (card) showTask(card.id);
  };
  /** With an open task, moving goes on to the next one. */
  const toRow = (column: Column, index: number) => {
    const { total } = data.columns[column];
    if (total.value === 0) return;
    const at = Math.min(Math.max(0, index), total.value - 1);
    boardFocus.value = { column, index: at, isAsked: true };
    const card = data.columns[column].at(at);
    if (openTask.value !== null && card) showTask(card.id);
  };
  const step = (by: number) => {
    const open = openTask.value;
    const { column: focused, index, isAsked } = boardFocus.value;
    // An empty column has no card to go on from.
    const column = hasCards(focused) ? focused : (COLUMNS.find(hasCards) ?? focused);
    const at = open === null ? -1 : data.columns[column].indexOf(open);
    // The first press shows where one is.
    const isFirst = open === null && !isAsked && document.activeElement?.closest(".card") === null;
    toRow(column, isFirst ? index : (at === -1 ? index : at) + by);
  };
  const across = (by: number) => {
    const { column, index } = boardFocus.value;
    for (let at = COLUMNS.indexOf(column) + by; COLUMNS[at] !== undefined; at += by) {
      const next = COLUMNS[at];
      if (next && hasCards(next)) return toRow(next, index);
    }
  };
  useKeys([
    { keys: ["j", "ArrowDown"], label: "Next card", run: () => step(1) },
    { keys: ["k", "ArrowUp"], label: "Card before", run: () => step(-1) },
    { keys: ["h", "ArrowLeft"], label: "Column to the left", run: () => across(-1) },
    { keys: ["l", "ArrowRight"], label: "Column to the right", run: () => across(1) },
    { keys: ["Enter"], label: "Open the card", run: openFocused },
    { keys: ["p"], label: "Hold, or go on", run: () => data.hold(!data.isHeld.value) },
  ]);
  useEffect(() => {
    if (!hasCards(boardFocus.value.column)) {
      boardFocus.value = { column: shown, index: 0, isAsked: false };
    }
    siblings.value = { next: () => step(1), previous: () => step(-1) };
    return () => {
      siblings.value = null;
    };
  }, []);
}

/** A drawer narrows the board: the column of its task is scrolled into what is left. */
function useShownColumn(columns: HTMLElement | null): void {
  const open = openTask.value;
  // Once its card is there, which may be after the drawer.
  const column = COLUMNS.find((one) => {
    const cards = data.columns[one];
    return open !== null && cards.version.value > 0 && cards.indexOf(open) !== -1;
  });
  const shown = useRef<string | null>(null);
  useEffect(() => {
    if (open === null) shown.current = null;
    // Only once: a task that moves on does not take the board with it.
    if (column === undefined || columns === null || shown.current === open) return;
    shown.current = open;
    boardFocus.value = { column, index: data.columns[column].indexOf(open ?? ""), isAsked: false };
    const element = columns.querySelector<HTMLElement>(`[data-column="${column}"]`);
    if (element) columns.scrollTo({ left: element.offsetLeft });
  }, [column, columns, open]);
}
