import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { now } from "../../live/clock.ts";
import type { CrewMember, Fleet } from "../../live/data-shapes.ts";
import { Arc } from "../../parts/arc.tsx";
import { dollars, duration, fullTime } from "../../parts/format.ts";
import { Chip, type Tone } from "../../parts/glyph.tsx";
import { Name } from "../../parts/name.tsx";
import { Panel } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { ActButton } from "./act-button.tsx";
import { Recent } from "./recent.tsx";
import { FleetHead } from "./workers.tsx";

const LOOKS: Record<CrewMember["state"], { tone: Tone; word: string }> = {
  waiting: { tone: "waiting", word: "Waiting" },
  checking: { tone: "working", word: "Checking" },
  queued: { tone: "ready", word: "At the gate" },
  running: { tone: "working", word: "Running" },
  backing_off: { tone: "waiting", word: "Backing off" },
  held: { tone: "waiting", word: "Held" },
  paused: { tone: "waiting", word: "Paused" },
  parked: { tone: "review", word: "Parked" },
  stopped: { tone: "none", word: "Stopped" },
  "not running": { tone: "none", word: "Not running" },
};

export function Crew({
  crew,
  onChange,
}: {
  crew: NonNullable<Fleet["crew"]>;
  onChange: () => void;
}) {
  const { members, supervisor } = crew;
  const manifest = supervisor.manifest && `of ${supervisor.manifest.split("/").at(-1)}`;
  const how = supervisor.running ? "each on its own clock" : "not running: viv crew up";
  return (
    <Panel
      title="Crew"
      note={
        <>
          {members.length} <span class="sm desk">{[manifest, how].filter(Boolean).join(", ")}</span>
        </>
      }
    >
      <table class="fl live">
        <FleetHead last="Next tick" />
        <tbody>
          {members.map((member) => (
            <MemberRow key={member.name} member={member} onChange={onChange} />
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

const waits = (last: string | null) => `Waits for its ${last === null ? "first" : "next"} tick`;

function MemberRow({ member, onChange }: { member: CrewMember; onChange: () => void }) {
  const { name, state, lifecycle, engine, note, thought, recent, cost_today, last_run } = member;
  const { tone, word } = LOOKS[state];
  const isOff = state === "paused" || state === "parked";
  const own = { input: { name }, onChange };
  const says = (label: string, said: string) => ({
    label: `${label}: ${name}`,
    said: `${name} ${said}`,
  });
  return (
    <tr>
      <td class="sign">
        <Dial member={member} tone={tone} isOff={isOff} />
      </td>
      <td class="name">
        <span class="name-of">
          <Name text={name} />
          {lifecycle && <span class="t3 sm">&nbsp;{lifecycle}</span>}
        </span>
        <span class="sm t3 cut">{engine}</span>
      </td>
      <td class="state">
        <Chip tone={tone} bare>
          {word}
        </Chip>
      </td>
      <td class="doing">
        <span class="cut">
          <bdi>{plain(note) || (state === "waiting" ? waits(last_run) : word)}</bdi>
        </span>
        <span class="sm t2 cut">
          <bdi>{plain(thought ?? "")}</bdi>
        </span>
      </td>
      <td class="x1">
        <Recent outcomes={recent} />
        <span class="xs t3">{streakOf(member)}</span>
      </td>
      <td class="x2 right">
        <NextTick member={member} />
      </td>
      <td class="right cost">{dollars(cost_today)}</td>
      <td class="ops">
        {!isOff && (
          <ActButton
            {...{ ...own, icon: "tick", op: "crew tick" }}
            {...says("Tick now", "has ticked")}
          />
        )}
        {isOff ? (
          <ActButton
            {...{ ...own, icon: "play", op: "crew resume" }}
            {...says("Resume", "goes on")}
          />
        ) : (
          <ActButton
            {...{ ...own, icon: "pause", op: "crew pause" }}
            {...says("Pause", "is paused")}
          />
        )}
      </td>
    </tr>
  );
}

function streakOf({ streak, saved, outcome }: CrewMember): string {
  if (streak > 0) return `${streak} without work`;
  return saved > 0 ? `${saved} saved` : (outcome?.replace("_", " ") ?? "");
}

function NextTick({ member: { state, next_tick, since } }: { member: CrewMember }) {
  const text = useMemo(
    () =>
      computed(() => {
        if (state === "running") return `runs ${duration(now.value - Date.parse(since))}`;
        if (state === "checking" || state === "queued") return "due";
        if (next_tick === null) return "none";
        const left = Date.parse(next_tick) - now.value;
        return left <= 0 ? "due" : duration(left);
      }),
    [state, next_tick, since],
  );
  return <time title={next_tick === null ? undefined : fullTime(next_tick)}>{text}</time>;
}

const R = 11;

/** The time since the last tick as an arc; full is the next one. */
function Dial({ member, tone, isOff }: { member: CrewMember; tone: Tone; isOff: boolean }) {
  const { last_run, next_tick, since, state } = member;
  const share = useMemo(
    () =>
      computed(() => {
        const from = Date.parse(last_run ?? since);
        const to = Date.parse(next_tick ?? "");
        if (state === "running" || state === "queued" || state === "checking") return 1;
        if (Number.isNaN(to) || to <= from) return 0;
        return Math.min(1, Math.max(0, (now.value - from) / (to - from)));
      }),
    [last_run, next_tick, since, state],
  ).value;
  const angle = share * 2 * Math.PI;
  const percent = Math.round(share * 100);
  const label = isOff ? LOOKS[state].word : `${percent} % of the way to the next tick`;
  return (
    <svg
      class={`dial s-${tone}`}
      width="28"
      height="28"
      viewBox="0 0 28 28"
      role="img"
      aria-label={label}
    >
      <circle class={isOff ? "face off" : "face"} cx="14" cy="14" r={R} />
      {isOff ? (
        <path class="hand" d="M11.500 10.500v7M16.500 10.500v7" />
      ) : (
        <>
          <Arc at={14} r={R} share={share} />
          <path
            class="hand"
            d={`M14 14L${(14 + 7 * Math.sin(angle)).toFixed(1)} ${(14 - 7 * Math.cos(angle)).toFixed(1)}`}
          />
        </>
      )}
    </svg>
  );
}
