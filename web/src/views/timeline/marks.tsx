import type { TimelineAnswer } from "../../live/data-shapes.ts";
import { moment } from "../../parts/format.ts";
import { Glyph, type Tone } from "../../parts/glyph.tsx";
import { plain } from "../../parts/plain.ts";
import { taskHref } from "../../shell/router.ts";
import { lookOf } from "../overview/night-drawing.ts";

interface Mark {
  at: string;
  tone: Tone;
  text: string;
  task?: string;
}

const MOST_MARKS = 24;

/** What stood out: kills, lost workers, failures, closed accounts; the newest first. */
export function Marks({ timeline }: { timeline: TimelineAnswer }) {
  const marks = marksOf(timeline);
  if (marks.length === 0) return <p class="pad t3">Nothing stood out.</p>;
  return (
    <ul class={marks.some(({ at }) => moment(at).length > 5) ? "list marks days" : "list marks"}>
      {marks.slice(0, MOST_MARKS).map(({ at, tone, text, task }) => (
        <li key={`${at} ${text}`}>
          <span class="t3 nowrap">{moment(at)}</span>
          <Glyph tone={tone} />
          <span class="cut">
            {task && (
              <a class="id" href={taskHref(task)}>
                <bdi>{task}</bdi>
              </a>
            )}{" "}
            <bdi>{text}</bdi>
          </span>
        </li>
      ))}
    </ul>
  );
}

function marksOf({ lanes, kills, closed }: TimelineAnswer): Mark[] {
  const marks: Mark[] = kills.map(({ at, name, why }) => ({
    ...{ at, tone: "failed" as const, text: `${name} killed: ${plain(why)}` },
  }));
  for (const { account, from, to } of closed) {
    const until = to === null ? "until a person opens it" : `until ${moment(to)}`;
    marks.push({
      at: from,
      tone: to === null ? "review" : "waiting",
      text: `${account} closed ${until}`,
    });
  }
  for (const { name, kind, spans } of lanes) {
    for (const span of spans) {
      const { to, outcome, task } = span;
      const isLost = outcome === "abandoned";
      if (to === null || (lookOf(span) !== "no" && !isLost)) continue;
      const word = outcome?.replace("_", " ") ?? "";
      const of = kind === "crew" ? `${name} ${word}` : `${word} with ${name}`;
      const text = isLost ? `went back: ${name} is gone` : of;
      marks.push({ at: to, tone: "failed", text, task: task || undefined });
    }
  }
  return marks.sort((a, b) => (a.at < b.at ? 1 : -1));
}
