import type { Fleet, ScheduleList } from "../../live/data-shapes.ts";
import { count, counted, moment } from "../../parts/format.ts";
import { Chip, type Tone } from "../../parts/glyph.tsx";
import { Panel } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { Since } from "../../parts/since.tsx";
import { ActButton } from "./act-button.tsx";

const TONES: Record<string, Tone> = {
  working: "working",
  running: "working",
  up: "done",
  idle: "ready",
  starting: "ready",
  restarts: "review",
  waits: "review",
  parked: "failed",
  crashed: "failed",
  "left over": "review",
};

/** The processes of `viv up`. */
export function Parts({ parts }: { parts: NonNullable<Fleet["parts"]> }) {
  const { pid, since } = parts;
  return (
    <Panel
      title="viv up"
      note={counted(parts.parts.length, "part")}
      controls={
        <span class="t3 sm">
          pid {pid}, up <Since at={since} />
        </span>
      }
    >
      <div class="scroll-x" role="region" aria-label="Parts of viv up" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>Part</th>
              <th>State</th>
              <th class="right">Pid</th>
              <th class="right">Restarts</th>
              <th class="right">Since</th>
            </tr>
          </thead>
          <tbody>
            {parts.parts.map((part) => (
              // One that is left over has the name of its successor.
              <tr
                key={`${part.name} ${part.state === "left over" ? part.pid : ""}`}
                title={plain(part.note || part.name)}
              >
                <td class="cut part">
                  <b>
                    <bdi>{part.name}</bdi>
                  </b>{" "}
                  <span class="t3 sm">
                    <bdi>{plain(part.note || (part.kind === part.name ? "" : part.kind))}</bdi>
                  </span>
                </td>
                <td>
                  <Chip tone={TONES[part.state] ?? "none"}>{part.state}</Chip>
                </td>
                <td class="right t2">{part.pid ?? "–"}</td>
                <td class={part.restarts > 0 ? "right c s-review" : "right t3"}>
                  {count(part.restarts)}
                </td>
                <td class="right t2">
                  <Since at={part.since} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

export function Schedules({ list, onChange }: { list: ScheduleList; onChange: () => void }) {
  const { schedules, running } = list;
  const note = running ? count(schedules.length) : `${schedules.length}, not running: viv up`;
  return (
    <Panel title="Schedules" note={note}>
      {schedules.length === 0 && (
        <p class="pad t2">
          None yet. In viv.toml: <code>[[schedule]] cron = "0 7 * * *"</code>
        </p>
      )}
      <ul class="list tall">
        {schedules.map(({ name, cron, tasks, state, next, last, note }) => (
          <li key={name}>
            <div class="grow cut">
              <div class="cut">
                <b>
                  <bdi>{name}</bdi>
                </b>{" "}
                <code class="t2">{cron}</code> <span class="t3 sm">{plain(tasks)}</span>
              </div>
              <div class="sm t3 cut">
                {state !== "on" ? state : next[0] ? `next ${moment(next[0])}` : "never"}
                {last && `, last ${moment(last.fire)}: ${counted(last.tasks, "task")}`}
                {note !== "" && `; ${plain(note)}`}
              </div>
            </div>
            <ActButton
              {...{ icon: "tick", op: "schedule run", input: { name }, onChange }}
              label={`Run ${name} now`}
              said={`${name} has fired`}
            />
            {state === "paused" && (
              <ActButton
                {...{ icon: "play", op: "schedule resume", input: { name }, onChange }}
                label={`Resume ${name}`}
                said={`${name} goes on`}
              />
            )}
            {state === "on" && (
              <ActButton
                {...{ icon: "pause", op: "schedule pause", input: { name }, onChange }}
                label={`Pause ${name}`}
                said={`${name} is paused`}
              />
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
