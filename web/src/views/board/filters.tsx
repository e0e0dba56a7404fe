import { count } from "../../parts/format.ts";
import { param, setParams } from "../../shell/router.ts";
import { FilterField } from "../filter-field.tsx";
import type { BoardData } from "./board-data.ts";
import { hasWord, toggleWord, valuesOf, withValues } from "./filter-words.ts";

const MOST_TYPES = 8;

/** The filter in the address, as a field, chips of the types and a menu of workers. */
export function Filters({ data }: { data: BoardData }) {
  const filter = param("filter");
  const set = (next: string) => setParams({ filter: next });
  const types = data.types.value;
  const worker = valuesOf(filter, "worker")[0] ?? "";
  return (
    <search class="filters">
      <FilterField placeholder="Filter: type:fix worker:ada is:choked" label="Filter tasks" />
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
