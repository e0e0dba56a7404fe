import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { count } from "../../parts/format.ts";
import { COLUMN_LABEL, type Column, Glyph } from "../../parts/glyph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { pointed } from "../../shell/moment-caption.tsx";
import { openTask, taskHref } from "../../shell/router.ts";
import type { BoardData } from "./board-data.ts";
import { CardBody } from "./card.tsx";
import { boardFocus } from "./focus.ts";
import { mostRows, rowWindow, scrollToRow } from "./row-window.ts";

/** Card and gap. Columns that need attention give the title two lines; done has no fact. */
export const ROW_HEIGHT: Record<Column, number> = {
  waiting: 90,
  ready: 90,
  working: 108,
  review: 108,
  done: 72,
  failed: 108,
};
const ORDER: Record<Column, string> = {
  waiting: "oldest first",
  ready: "in turn",
  working: "longest first",
  review: "oldest first",
  done: "newest first",
  failed: "newest first",
};

/** One column: only the rows that are seen, and three beyond, are in the page. */
export function BoardColumn({
  column,
  data,
  isShown,
}: {
  column: Column;
  data: BoardData;
  isShown: boolean;
}) {
  const cards = data.columns[column];
  const height = ROW_HEIGHT[column];
  const scroller = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, size: 800 });
  const rows = useComputed(() => {
    const { top, size } = view.value;
    return rowWindow(top, size, height, cards.total.value);
  });
  // Only a change of the rows draws the column again, not every pixel.
  const range = useComputed(() => `${rows.value.start}:${rows.value.end}`);
  const pool = useComputed(() => mostRows(view.value.size, height));

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    // The board was open before, and is at its top again.
    Object.assign(cards, { isScrolled: false, isPointed: false, isFocused: false });
    const watcher = new ResizeObserver(() => {
      view.value = { top: element.scrollTop, size: element.clientHeight };
    });
    watcher.observe(element);
    const onScroll = () => {
      view.value = { ...view.value, top: element.scrollTop };
      const isScrolled = element.scrollTop > 4;
      if (cards.isScrolled === isScrolled) return;
      cards.isScrolled = isScrolled;
      if (!isScrolled) data.settle(column);
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      watcher.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, []);
  useSignalEffect(() => {
    const { start, end } = rows.value;
    data.want(column, start, end);
  });
  useSignalEffect(() => {
    data.anew.value;
    if (scroller.current !== null) scroller.current.scrollTop = 0;
    view.value = { ...view.peek(), top: 0 };
  });
  useFocusedRow(column, height, scroller);

  const still = (kind: "isPointed" | "isFocused", is: boolean) => {
    if (cards[kind] === is) return;
    cards[kind] = is;
    if (!is) data.settle(column);
  };
  const total = data.counts.value?.[column];
  const showNew = () => {
    scroller.current?.scrollTo({ top: 0 });
    cards.isScrolled = false;
    cards.isPointed = false;
    data.refreshSoon();
  };
  return (
    <section
      class={`col${isShown ? " is-shown" : ""}`}
      aria-label={`${COLUMN_LABEL[column]}, ${total === undefined ? "loading" : count(total)}`}
      data-column={column}
      onPointerEnter={(event) => event.pointerType === "mouse" && still("isPointed", true)}
      onPointerLeave={() => still("isPointed", false)}
      onFocusIn={() => still("isFocused", true)}
      onFocusOut={() => still("isFocused", false)}
    >
      <header>
        <Glyph tone={column} />
        <h2>{COLUMN_LABEL[column]}</h2>
        <span class="n">{total === undefined ? "" : count(total)}</span>
        <Arrived data={data} column={column} onShow={showNew} />
      </header>
      <div class="scroll live" ref={scroller} tabIndex={cards.total.value === 0 ? 0 : -1}>
        {total === 0 && <p class="none t3">No task here.</p>}
        <Rows data={data} column={column} height={height} range={range.value} pool={pool.value} />
      </div>
      <footer>
        <Position rows={rows} total={cards.total} />
        <span class="cut">{ORDER[column]}</span>
      </footer>
    </section>
  );
}

function Rows({
  data,
  column,
  height,
  range,
  pool,
}: {
  data: BoardData;
  column: Column;
  height: number;
  range: string;
  /** A row keeps its element while it is seen, and gives it to the next one then. */
  pool: number;
}) {
  const cards = data.columns[column];
  cards.version.value; // draws again when a card changes
  const [start = 0, end = 0] = range.split(":").map(Number);
  const open = openTask.value;
  const shown = pointed.value.task;
  const focused = boardFocus.value;
  const inside = focused.column === column && focused.index >= start && focused.index < end;
  const entry = inside ? focused.index : start;
  const drawn = [];
  for (let index = start; index < end; index++) {
    const card = cards.at(index);
    const style = { transform: `translateY(${index * height}px)`, height: `${height - 4}px` };
    if (card === undefined) {
      drawn.push(<div key={index % pool} class="card is-empty" style={style} />);
      continue;
    }
    const classes = ["card", `s-${card.column}`];
    if (card.column !== column) classes.push("is-gone");
    if (card.id === shown) classes.push("is-pointed");
    drawn.push(
      <a
        key={index % pool}
        class={classes.join(" ")}
        style={style}
        href={taskHref(card.id)}
        data-index={index}
        tabIndex={index === entry ? 0 : -1}
        aria-current={card.id === open ? "true" : undefined}
        onFocus={() => {
          if (focused.column !== column || focused.index !== index) {
            boardFocus.value = { column, index, isAsked: false };
          }
        }}
      >
        <CardBody card={card} />
      </a>,
    );
  }
  return (
    <div class="space" style={{ height: `${cards.total.value * height}px` }}>
      {drawn}
    </div>
  );
}

function Position({
  rows,
  total,
}: {
  rows: { value: { first: number; last: number } };
  total: { value: number };
}) {
  const { first, last } = rows.value;
  if (total.value === 0) return <span>none</span>;
  return (
    <span>
      {count(first)}–{count(last)} of {count(total.value)}
    </span>
  );
}

/** How many came while the column keeps still; a press shows them. */
function Arrived({
  data,
  column,
  onShow,
}: {
  data: BoardData;
  column: Column;
  onShow: () => void;
}) {
  const { arrived } = data.columns[column];
  return (
    <span class="arrived" role="status" aria-live="polite">
      {arrived.value > 0 && data.isStill(column) && (
        <button type="button" class="pick" aria-pressed="true" onClick={onShow}>
          <Icon name="previous" size={11} />
          {count(arrived.value)} new
        </button>
      )}
    </span>
  );
}

/** Scrolls to the row that the keys chose, and gives it the focus. */
function useFocusedRow(
  column: Column,
  height: number,
  scroller: { current: HTMLDivElement | null },
): void {
  const { column: chosen, index, isAsked } = boardFocus.value;
  useEffect(() => {
    const element = scroller.current;
    if (chosen !== column || !isAsked || element === null) return;
    const top = scrollToRow(index, height, element.scrollTop, element.clientHeight);
    if (top !== element.scrollTop) element.scrollTop = top;
    // The row may be drawn only after the scroll.
    const frame = requestAnimationFrame(() => {
      // A key may have gone on meanwhile.
      if (boardFocus.peek().index !== index || boardFocus.peek().column !== column) return;
      const row = element.querySelector<HTMLElement>(`[data-index="${index}"]`);
      row?.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(frame);
  }, [chosen, index, isAsked]);
}
