import { useEffect, useRef, useState } from "preact/hooks";
import { count } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useKeys } from "../../shell/keys.tsx";
import { param, setParams } from "../../shell/router.ts";
import type { BoardData } from "./board-data.ts";
import { hasWord, toggleWord, valuesOf, withValues } from "./filter-words.ts";

const MOST_TYPES = 8;

/** The filter in the address, as a field, chips of the types and a menu of workers. */
export function Filters({ data }: { data: BoardData }) {
  const filter = param("filter");
  const [typed, setTyped] = useState(filter);
  const field = useRef<HTMLInputElement>(null);
  const sent = useRef(filter);
  useEffect(() => {
    // From elsewhere: back, a chip, a link.
    if (filter !== sent.current) setTyped(filter);
    sent.current = filter;
  }, [filter]);
  useEffect(() => {
    if (typed === sent.current) return;
    const timer = setTimeout(() => change(typed), 150);
    return () => clearTimeout(timer);
  }, [typed]);
  const change = (next: string) => {
    sent.current = next.trim();
    setParams({ filter: next.trim() });
  };
  const set = (next: string) => {
    setTyped(next);
    change(next);
  };
  useKeys([{ keys: ["/"], label: "Filter", run: () => field.current?.focus() }]);
  const types = data.types.value;
  const worker = valuesOf(filter, "worker")[0] ?? "";
  return (
    <search class="filters">
      <label class="field">
        <Icon name="search" size={14} />
        <input
          ref={field}
          type="text"
          aria-label="Filter tasks"
          placeholder="Filter: type:fix worker:ada is:choked"
          spellcheck={false}
          autocomplete="off"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            // Both leave the field, and the keys of the board count again.
            if (event.key !== "Escape" && event.key !== "Enter") return;
            change(typed);
            field.current?.blur();
            event.stopPropagation();
          }}
        />
        {typed === "" ? (
          <kbd class="desk">/</kbd>
        ) : (
          <button type="button" class="flat" aria-label="Clear the filter" onClick={() => set("")}>
            <Icon name="close" size={12} />
          </button>
        )}
      </label>
      {types.slice(0, MOST_TYPES).map(({ type, count: n }) => (
        <button
          key={type}
          type="button"
          class="pick"
          aria-pressed={hasWord(filter, "type", type)}
          onClick={() => set(toggleWord(filter, "type", type))}
        >
          <bdi>{type}</bdi> <span class="t3">{count(n)}</span>
        </button>
      ))}
      {data.workers.value.length > 0 && (
        <select
          class="pick"
          aria-label="Worker"
          value={worker}
          onChange={({ currentTarget: { value } }) =>
            set(withValues(filter, "worker", value === "" ? [] : [value]))
          }
        >
          <option value="">Worker</option>
          {data.workers.value.map(({ worker: name, count: n }) => (
            <option key={name} value={name}>
              {name} {count(n)}
            </option>
          ))}
        </select>
      )}
    </search>
  );
}
