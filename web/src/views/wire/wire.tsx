import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { now } from "../../live/clock.ts";
import { Empty } from "../../parts/empty.tsx";
import { clock, clockMillis, clockSeconds, count, counted } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useKeys } from "../../shell/keys.tsx";
import { param, setParams, taskHref } from "../../shell/router.ts";
import { Main, TopBar } from "../../shell/top-bar.tsx";
import { rowWindow } from "../board/row-window.ts";
import { FilterField } from "../filter-field.tsx";
import { NoTask } from "../overview/no-task.tsx";
import { useRowKeys } from "../row-keys.ts";
import { rateBars } from "./rate.ts";
import "./wire.css";
import { WireData } from "./wire-data.ts";
import { fits, parseWords, type WireLine } from "./wire-line.ts";

const data = new WireData();
const PICKS =
  "claimed done landed unproven failed review held asked enqueued promoted step usage".split(" ");
const TONE: Record<string, string> = {
  ...{ claimed: "working", done: "done", landed: "done", unproven: "failed", failed: "failed" },
  ...{ review: "review", held: "review", asked: "review" },
};

/** Everything as it happens; the list stands still while it is read. */
export default function Wire() {
  const typed = param("q");
  const picked = param("event").split(",").filter(Boolean);
  const filter = useMemo(() => {
    const words = parseWords(typed);
    return { ...words, event: [words.event, ...picked].filter(Boolean).join(",") };
  }, [typed, picked.join()]);
  useEffect(() => data.start(), []);
  useEffect(() => data.setFilter(filter), [filter]);
  const all = data.lines.value;
  const shown = useMemo(() => all.filter((line) => fits(line, filter)), [all, filter]);
  const waiting = data.waiting.value.filter((line) => fits(line, filter)).length;
  const isHeld = data.isHeld.value;
  useKeys([
    { keys: ["p"], label: "Hold still, or go on", run: () => data.hold(!data.isHeld.value) },
  ]);
  useRowKeys(".wire ul li", "line");
  const toggle = (event: string) => {
    const next = picked.includes(event)
      ? picked.filter((one) => one !== event)
      : [...picked, event];
    setParams({ event: next.join(",") || null });
  };
  return (
    <>
      <TopBar title="Wire" sub="ledger, crew and warden as they write">
        <span class="t3 sm desk">{rateOf(all)}</span>
        <button
          type="button"
          class="btn"
          aria-pressed={isHeld}
          title="P"
          onClick={() => data.hold(!isHeld)}
        >
          <Icon name={isHeld ? "play" : "pause"} size={14} />
          {isHeld ? "Follow" : "Hold"}
        </button>
      </TopBar>
      <Main className="wire-view">
        <Rate lines={all} />
        <search class="filters">
          <FilterField name="q" placeholder="Filter: task:port.131 who:ada" label="Filter events" />
          {PICKS.map((event) => (
            <button
              key={event}
              type="button"
              class="pick"
              aria-pressed={picked.includes(event)}
              onClick={() => toggle(event)}
            >
              <span class={`s-${TONE[event] ?? "ready"} c`}>{event}</span>
            </button>
          ))}
        </search>
        <List lines={shown} waiting={waiting} isFiltered={typed !== "" || picked.length > 0} />
      </Main>
    </>
  );
}

function rateOf(lines: readonly WireLine[]): string {
  const since = new Date(now.value - 60_000).toISOString();
  const at = lines.findIndex((line) => line.at < since);
  const n = at === -1 ? lines.length : at;
  return `${counted(n, "event")} in the last minute`;
}

/** Events per minute, as far back as lines are known, at most two hours. */
function Rate({ lines }: { lines: readonly WireLine[] }) {
  const minute = Math.floor(now.value / 60_000);
  const bars = useMemo(() => rateBars(lines, minute), [lines, minute]);
  const from = (minute - bars.counts.length + 1) * 60_000;
  return (
    <figure class="rate desk">
      <svg
        viewBox={`0 0 ${bars.counts.length} 32`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Events per minute of the last ${bars.counts.length} minutes; the most: ${bars.most}`}
      >
        <path class="all" d={bars.all} />
        <path class="bad" d={bars.bad} />
      </svg>
      <figcaption class="xs t3">
        <span>{clock(from)}</span>
        <span>{clock(from + (minute * 60_000 - from) / 2)}</span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

const ROW = 24;
const ROW_ON_PHONE = 46;

function List({
  lines,
  waiting,
  isFiltered,
}: {
  lines: readonly WireLine[];
  waiting: number;
  isFiltered: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800, row: ROW });
  const before = useRef<readonly WireLine[]>(lines);
  // A reader further down, or on a line, stays there: what comes on top moves the view with it.
  useLayoutEffect(() => {
    const element = box.current;
    const first = before.current[0]?.key;
    before.current = lines;
    if (element === null || first === undefined) return;
    if (element.scrollTop < 4 && element.querySelector("li:focus") === null) return;
    const added = lines.findIndex(({ key }) => key === first);
    if (added > 0) element.scrollTop += added * view.row;
  }, [lines]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => {
      const row = element.clientWidth < 640 ? ROW_ON_PHONE : ROW;
      setView({ top: element.scrollTop, height: element.clientHeight, row });
    };
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  const { start, end } = rowWindow(view.top, view.height, view.row, lines.length);
  useEffect(() => {
    if (end >= lines.length - 20) void data.older();
  }, [end, lines.length]);
  const onScroll = ({ currentTarget: element }: { currentTarget: HTMLElement }) =>
    setView({ ...view, top: element.scrollTop, height: element.clientHeight });
  const show = () => {
    data.show();
    box.current?.scrollTo({ top: 0 });
  };
  return (
    <div class="wire-box">
      <div class="held" aria-live="polite">
        {waiting > 0 && (
          <button type="button" class="btn primary" onClick={show}>
            {count(waiting)} new
          </button>
        )}
      </div>
      <div
        class="wire live"
        ref={box}
        onScroll={onScroll}
        tabIndex={0}
        role="region"
        aria-label="Events, newest first"
      >
        {lines.length === 0 && !data.isReading.value ? (
          <Nothing isFiltered={isFiltered} />
        ) : (
          <ul style={{ height: `${lines.length * view.row}px` }}>
            {lines.slice(start, end).map((line, at) => (
              <Line key={line.key} line={line} top={(start + at) * view.row} />
            ))}
          </ul>
        )}
        {(lines.length > 0 || data.isReading.value) && (
          <p class="foot t3 sm">
            {data.isReading.value
              ? "reading the record"
              : data.isAtEnd.value
                ? "the beginning"
                : ""}
          </p>
        )}
      </div>
    </div>
  );
}

function Line({ line, top }: { line: WireLine; top: number }) {
  const { at, word, tone, subject, isTask, who, move, text, cost, isQuiet, key } = line;
  const isBare = move === "" && text === "";
  const looks = `${isQuiet ? "quiet " : ""}${data.fresh.has(key) ? "new " : ""}${isBare ? "bare" : ""}`;
  return (
    <li class={looks} style={{ top: `${top}px` }}>
      <time class="t3" dateTime={at}>
        <span class="desk">{clockMillis(at)}</span>
        <span class="phone">{clockSeconds(at)}</span>
      </time>
      <span class={`s-${tone} c cut`}>{word}</span>
      <span class="cut">
        {isTask ? (
          <a href={taskHref(String(line.line.task))}>
            <bdi>{subject}</bdi>
          </a>
        ) : (
          <bdi>{subject}</bdi>
        )}
      </span>
      <span class="cut t2">
        <bdi>{who}</bdi>
      </span>
      <span class="cut">
        {move !== "" && <span class="t3">{move} </span>}
        <bdi>{text}</bdi>
      </span>
      <span class="right t2">{cost}</span>
    </li>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No event matches" />;
  return (
    <NoTask
      title="It is quiet"
      text="Everything that happens in the run is written here, as it happens."
    />
  );
}
