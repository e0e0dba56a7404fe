import { useRef, useState } from "preact/hooks";
import { count } from "../../parts/format.ts";
import { Glyph } from "../../parts/glyph.tsx";
import { plain } from "../../parts/plain.ts";
import { Since } from "../../parts/since.tsx";
import { once } from "../../shell/act.ts";
import { useKeys } from "../../shell/keys.tsx";
import { openTask, taskHref } from "../../shell/router.ts";
import type { NeedRow } from "./needs.ts";

/** The rows, by what they block. The primary button is that of the selected one. */
export function NeedsList({ rows, total }: { rows: readonly NeedRow[]; total: number }) {
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const at = Math.min(chosen, rows.length - 1);
  const choose = (index: number) => {
    const next = Math.min(Math.max(0, index), rows.length - 1);
    setChosen(next);
    const row = list.current?.children[next];
    row?.querySelector<HTMLElement>("button")?.focus();
    row?.scrollIntoView({ block: "nearest" });
  };
  const isFree = () => openTask.value === null && rows.length > 0;
  useKeys([
    {
      keys: ["j", "ArrowDown"],
      label: "Next thing that needs you",
      when: isFree,
      run: () => choose(at + 1),
    },
    { keys: ["k", "ArrowUp"], label: "The one before", when: isFree, run: () => choose(at - 1) },
    { keys: ["Enter"], label: "Act on it", when: isFree, run: () => rows[at]?.run() },
  ]);
  return (
    <section class="panel needs-panel" aria-label="Needs you">
      <header>
        <h2>Needs you</h2>
        <span class="n">{count(total)}</span>
        <span class="grow" />
        {rows.length > 0 && (
          <span class="t3 sm row desk">
            <kbd>J</kbd>
            <kbd>K</kbd> move <kbd>↵</kbd> act
          </span>
        )}
      </header>
      {rows.length === 0 ? (
        <div class="needs-none">
          <Glyph tone="done" />
          <p>Nothing needs you.</p>
        </div>
      ) : (
        <ul class="needs" ref={list}>
          {rows.map((row, index) => (
            <Row
              key={row.key}
              row={row}
              isChosen={index === at}
              onChoose={() => setChosen(index)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

function Row({
  row,
  isChosen,
  onChoose,
}: {
  row: NeedRow;
  isChosen: boolean;
  onChoose: () => void;
}) {
  const { tone, kind, subject, isTask, text, detail, since, action, command, run } = row;
  return (
    <li class={isChosen ? "is-chosen" : undefined} onPointerEnter={onChoose} onFocusIn={onChoose}>
      <Glyph tone={tone} />
      <span class="kind sm t3">{kind}</span>
      <div class="cut what">
        <div class="cut">
          {isTask ? (
            <a class="id" href={taskHref(subject)}>
              {subject}
            </a>
          ) : (
            subject !== "" && <bdi class="id">{subject}</bdi>
          )}{" "}
          <bdi>{plain(text)}</bdi>
        </div>
        <bdi class={`cut sm t2 detail ${detail === command ? "mono" : ""}`}>{plain(detail)}</bdi>
      </div>
      <span class="sm t3 right">
        <Since at={since} short />
      </span>
      <button
        type="button"
        class={isChosen ? "btn primary" : "btn"}
        tabIndex={isChosen ? 0 : -1}
        title={command ?? undefined}
        aria-label={`${action}: ${subject || text}`}
        onClick={once(run)}
      >
        {action}
      </button>
    </li>
  );
}
