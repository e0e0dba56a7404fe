import type { Graph } from "../../live/data-shapes.ts";
import { count } from "../../parts/format.ts";
import { COLUMN_LABEL, Glyph } from "../../parts/glyph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { plain } from "../../parts/plain.ts";
import { act, commandOf, once } from "../../shell/act.ts";
import { setParams, taskHref } from "../../shell/router.ts";
import type { Kin } from "./kin.ts";

type Node = Graph["nodes"][number];

/** The selected task, in one line, with what can be done about it. */
export function Dock({ node, kin, onClose }: { node: Node; kin: Kin; onClose: () => void }) {
  const { id, column, title } = node;
  const waits = kin.waiting;
  const sentence = `Needs ${count(kin.needs.size)}; ${count(waits)} ${waits === 1 ? "waits" : "wait"} for it.`;
  const retry = { ids: [id] };
  return (
    <div class="dock" role="region" aria-label={`The task ${id}`} aria-live="polite">
      <Glyph tone={column ?? "none"} />
      <b class="id cut">
        <bdi>{id}</bdi>
      </b>
      <span class="t2 cut grow">
        {column === null ? "Not there" : COLUMN_LABEL[column]}. {sentence}{" "}
        <bdi class="t3 desk">{plain(title)}</bdi>
      </span>
      {column === "failed" && (
        <button
          type="button"
          class="btn primary"
          title={commandOf("retry", retry)}
          onClick={once(() => act("retry", retry, { said: `${id} is tried again` }))}
        >
          Retry
        </button>
      )}
      <button type="button" class="btn desk" onClick={() => setParams({ around: id }, "push")}>
        Only around it
      </button>
      {column !== null && (
        <a class="btn" href={taskHref(id)}>
          Open
        </a>
      )}
      <button type="button" class="btn quiet icon" aria-label="Close" onClick={onClose}>
        <Icon name="close" size={14} />
      </button>
    </div>
  );
}
