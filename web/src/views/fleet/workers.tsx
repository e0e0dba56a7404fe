import type { FleetWorker } from "../../live/data-shapes.ts";
import { count, dollars, duration } from "../../parts/format.ts";
import { Chip, Glyph, type Tone } from "../../parts/glyph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Name } from "../../parts/name.tsx";
import { Panel } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { Since } from "../../parts/since.tsx";
import { act, commandOf } from "../../shell/act.ts";
import { ask } from "../../shell/ask.tsx";
import { taskHref } from "../../shell/router.ts";
import { ActButton } from "./act-button.tsx";
import { Recent } from "./recent.tsx";

/** Silent longer than this, a live worker is worth a look. */
const SILENT_S = 120;

export function Workers({
  workers,
  onChange,
}: {
  workers: readonly FleetWorker[];
  onChange: () => void;
}) {
  return (
    <Panel title="Workers" note={count(workers.length)}>
      <table class="fl live">
        <FleetHead last="For" />
        <tbody>
          {workers.map((worker) => (
            <WorkerRow key={worker.name} worker={worker} onChange={onChange} />
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

/** Workers and crew have one template, so that both tables read as one. */
export function FleetHead({ last }: { last: string }) {
  return (
    <thead>
      <tr>
        <th>
          <span class="unseen">Sign</span>
        </th>
        <th>Name</th>
        <th>State</th>
        <th>Doing</th>
        <th class="x1">Last 12</th>
        <th class="x2 right">{last}</th>
        <th class="right">Today</th>
        <th>
          <span class="unseen">Actions</span>
        </th>
      </tr>
    </thead>
  );
}

interface Look {
  tone: Tone;
  word: string;
}

/** One word for its state; a person is needed only where it is amber. */
export function workerLook({ alive, doing, quiet, process, held, paused }: FleetWorker): Look {
  if (!alive) return { tone: doing === null ? "none" : "failed", word: "Gone" };
  const isSilent = (quiet ?? 0) > SILENT_S && doing !== null;
  if (isSilent) return { tone: "review", word: `Silent ${duration((quiet ?? 0) * 1000, true)}` };
  if (doing !== null) return { tone: "working", word: "Working" };
  if (paused) return { tone: "waiting", word: "Paused" };
  if (held !== null) return { tone: "waiting", word: "Held" };
  return { tone: "ready", word: process === "none" ? "Seen" : "Idle" };
}

function WorkerRow({ worker, onChange }: { worker: FleetWorker; onChange: () => void }) {
  const { name, engine, types, doing, recent, done, heartbeat_age, usd_today } = worker;
  const { tone, word } = workerLook(worker);
  const kind = engine ?? (types === null ? "any type" : types.join(", "));
  return (
    <tr>
      <td class="sign">
        <Glyph tone={tone} />
      </td>
      <td class="name">
        <Name text={name} />
        <span class="sm t3 cut">{kind}</span>
      </td>
      <td class="state">
        <Chip tone={tone} bare>
          {word}
        </Chip>
      </td>
      <td class="doing">
        {doing === null ? (
          <span class="t2 cut">
            <bdi>{plain(idleNote(worker))}</bdi>
          </span>
        ) : (
          <>
            <span class="cut">
              <a class="id" href={taskHref(doing.task)}>
                <bdi>{doing.task}</bdi>
              </a>{" "}
              <bdi class={doing.step === null ? "" : "mono t2"}>
                {plain(doing.step ?? doing.title)}
              </bdi>
              {doing.more > 0 && <span class="t3"> and {doing.more} more</span>}
            </span>
            <span class="sm t2 cut">
              <bdi>{plain(doing.thought ?? (doing.step === null ? "" : doing.title))}</bdi>
            </span>
          </>
        )}
      </td>
      <td class="x1">
        <Recent outcomes={recent} />
        <span class="xs t3">{count(done)} done</span>
      </td>
      <td class="x2 right">
        {doing && <Since at={doing.since} />}
        {heartbeat_age !== null && (
          <span class={`xs ${tone === "review" ? "c s-review" : "t3"}`}>
            beat {duration(heartbeat_age * 1000, true)} ago
          </span>
        )}
      </td>
      <td class="right cost">{dollars(usd_today)}</td>
      <td class="ops">
        {doing !== null && <AskIt name={name} />}
        <PauseIt worker={worker} onChange={onChange} />
      </td>
    </tr>
  );
}

/** Of a worker that does nothing: why. */
function idleNote({ note, held, paused, alive }: FleetWorker): string {
  if (!paused) return held || note || (alive ? "Waits for a task" : "Its process is gone");
  return `Paused by ${paused.by}${paused.note ? `: ${paused.note}` : ""}`;
}

/** A paused worker ends what it has begun, and claims nothing. */
function PauseIt({ worker, onChange }: { worker: FleetWorker; onChange: () => void }) {
  const { name, paused, alive } = worker;
  if (paused === undefined || (paused === null && !alive)) return null;
  const own = { input: { worker: name }, onChange };
  return paused ? (
    <ActButton
      {...{ ...own, icon: "play", op: "resume", label: `Resume ${name}`, said: `${name} goes on` }}
    />
  ) : (
    <ActButton
      {...{ ...own, icon: "pause", op: "pause", label: `Pause ${name}` }}
      said={`${name} claims nothing any more`}
    />
  );
}

/** The warden asks before it ends anything. */
function AskIt({ name }: { name: string }) {
  const input = (reason: string) => ({ worker: name, reason: reason || "asked from the page" });
  const file = async () => {
    const note = await ask({
      title: `Ask ${name} whether it is alive?`,
      text: "A warrant is filed: a dog asks it up to three times. If it stays silent, its processes are ended and its task goes back.",
      note: "Reason, for the receipt",
      yes: "File a warrant",
      command: (given) => commandOf("warrant file", input(given)),
    });
    if (note !== null) await act("warrant file", input(note), { said: `A warrant for ${name}` });
  };
  return (
    <button
      type="button"
      class="btn quiet icon"
      aria-label={`Ask ${name} whether it is alive`}
      title={`viv warrant file --worker ${name}`}
      onClick={() => void file()}
    >
      <Icon name="warden" size={14} />
    </button>
  );
}
