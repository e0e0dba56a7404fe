import { useMemo } from "preact/hooks";
import type { TimelineAnswer } from "../../live/data-shapes.ts";
import { count, fullTime, moment, took } from "../../parts/format.ts";
import { Chip, type Tone } from "../../parts/glyph.tsx";
import { Table } from "../../parts/panel.tsx";
import { taskHref } from "../../shell/router.ts";
import { lookOf } from "../overview/night-drawing.ts";
import { useRowKeys } from "../row-keys.ts";
import type { TimeWindow } from "./window.ts";

const MOST_ROWS = 300;
const TONES: Record<string, Tone> = { ok: "done", again: "none", no: "failed", run: "working" };

/** The same attempts as a table, the newest first. */
export function AttemptList({ timeline, shown }: { timeline: TimelineAnswer; shown: TimeWindow }) {
  useRowKeys(".list-of tbody tr", "attempt");
  const rows = useMemo(() => {
    const all = timeline.lanes.flatMap(({ name, kind, spans }) =>
      spans.flatMap((span) => {
        const end = span.to === null ? shown.to : Date.parse(span.to);
        const isSeen = end >= shown.from && Date.parse(span.from) <= shown.to;
        return isSeen ? [{ ...span, name, kind }] : [];
      }),
    );
    return all.sort((a, b) => (a.from < b.from ? 1 : -1));
  }, [timeline, shown.from, shown.to]);
  return (
    <>
      <Table
        label="Attempts"
        className="list-of"
        head={["Began", "Worker", "Task", ">Attempt", ">Took", "End"]}
      >
        {rows
          .slice(0, MOST_ROWS)
          .map(({ task, from, to, outcome, attempt, again, name, count: n }) => (
            <tr key={`${name} ${task} ${from}`}>
              <td class="t3" title={fullTime(from)}>
                {moment(from)}
              </td>
              <td>
                <bdi>{name}</bdi>
              </td>
              <td>
                {task === "" ? (
                  <span class="t3">a tick</span>
                ) : (
                  <a class="id" href={taskHref(task)}>
                    <bdi>{task}</bdi>
                  </a>
                )}
                {n > 1 && <span class="t3"> and {count(n - 1)} more</span>}
              </td>
              <td class="right t2">{attempt}</td>
              <td class="right">{to === null ? "" : took(Date.parse(to) - Date.parse(from))}</td>
              <td>
                <Chip tone={TONES[lookOf({ outcome, again })] ?? "none"}>
                  {outcome?.replace("_", " ") ?? "working"}
                  {again && ", tried again"}
                </Chip>
              </td>
            </tr>
          ))}
      </Table>
      {rows.length > MOST_ROWS && (
        <p class="pad t3 sm">{count(rows.length - MOST_ROWS)} more; zoom in to see them.</p>
      )}
    </>
  );
}
