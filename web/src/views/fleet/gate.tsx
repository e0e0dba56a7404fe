import { useEffect, useRef, useState } from "preact/hooks";
import type { Fleet } from "../../live/data-shapes.ts";
import { count, counted } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Name } from "../../parts/name.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Since } from "../../parts/since.tsx";
import { act } from "../../shell/act.ts";
import { workerLook } from "./workers.tsx";

type Gate = NonNullable<Fleet["gate"]>;
/** More slots than these are a number, not a row of boxes. */
const MOST_SLOTS = 24;

/** The slots for engines, who has them, and who waits in line. */
export function GatePanel({ gate, fleet }: { gate: Gate; fleet: Fleet }) {
  const machine = { ...gate.machine, where: "one for all crews and workers of this machine" };
  const crew = gate.crew && { ...gate.crew, where: "of this crew" };
  const isUsed = ({ max, holders, queue }: typeof machine) =>
    max !== null || holders.length + queue.length > 0;
  const shown = [machine, crew].filter((one) => one !== undefined && isUsed(one as typeof machine));
  if (shown.length === 0) return <Open />;
  return <>{shown.map((one) => one && <One key={one.where} gate={one} fleet={fleet} />)}</>;
}

function Open() {
  return (
    <Panel title="Gate" note="no limit" controls={<MaxButtons max={null} holders={0} />}>
      <p class="pad t2">
        Any number of engines may run at a time. A maximum makes the others wait in line.
      </p>
    </Panel>
  );
}

interface OneGate {
  where: string;
  max: number | null;
  holders: Gate["machine"]["holders"];
  queue: Gate["machine"]["queue"];
}

function One({ gate, fleet }: { gate: OneGate; fleet: Fleet }) {
  const { max, holders, queue, where } = gate;
  const free = Math.max(0, Math.min(max ?? 0, MOST_SLOTS) - holders.length);
  const more = Math.max(max ?? 0, holders.length) - MOST_SLOTS;
  const note =
    max === null ? `${holders.length} running` : `${holders.length} of ${counted(max, "slot")}`;
  const isMachine = where.startsWith("one");
  return (
    <Panel
      title="Gate"
      note={note}
      controls={
        <>
          <span class="t3 sm desk">{where}</span>
          {isMachine && <MaxButtons max={max} holders={holders.length} />}
        </>
      }
    >
      <div class="pad gate-row">
        <ol class="in-line" aria-label={`${count(queue.length)} in line`}>
          {queue.length === 0 && <li class="none t3">none in line</li>}
          {queue.slice(0, 6).map(({ name, priority, since }, at) => (
            <li key={`${name} ${since}`}>
              <span class="t3">{at + 1}</span>
              <b class="cut">
                <bdi>{nameOf(name)}</bdi>
              </b>
              <span class="t3">{priority}</span>
              <span class="grow" />
              <span class="t2">
                <Since at={since} />
              </span>
            </li>
          ))}
          {queue.length > 6 && <li class="none t3">{count(queue.length - 6)} more</li>}
        </ol>
        <div class="into t3">
          <Icon name="arrow" />
        </div>
        <ul class="slots" aria-label="Running">
          {holders.slice(0, MOST_SLOTS).map(({ name, since }) => {
            const about = aboutHolder(fleet, nameOf(name));
            return (
              <li
                key={`${name} ${since}`}
                class={`slot s-${about.isSilent ? "review" : "working"}`}
              >
                <span class="row">
                  <Name text={nameOf(name)} />
                  <span class="grow" />
                  <span class="t3 sm">
                    <Since at={since} short />
                  </span>
                </span>
                <span class="id t2 cut">
                  <bdi>{about.task}</bdi>
                </span>
                <span class="sm t3 cut">{about.engine}</span>
              </li>
            );
          })}
          {more > 0 && <li class="slot free t3">{count(more)} more</li>}
          {Array.from({ length: free }, (_, at) => (
            <li key={at} class="slot free t3">
              free
            </li>
          ))}
        </ul>
      </div>
    </Panel>
  );
}

/** A holder is `worker:ada`, or the name alone. */
function nameOf(holder: string): string {
  return holder.replace(/^.*[:/]/, "") || holder;
}

function aboutHolder({ workers, crew }: Fleet, name: string) {
  const worker = workers.find((one) => one.name === name);
  if (worker !== undefined) {
    const isSilent = workerLook(worker).tone !== "working";
    return { task: worker.doing?.task ?? "", engine: worker.engine ?? "worker", isSilent };
  }
  const member = crew?.members.find((one) => one.name === name);
  const engine = member?.engine ? `crew, ${member.engine}` : "";
  return { task: member ? "one tick" : "", engine, isSilent: false };
}

/**
 * A press counts from what the last one asked for, also before that is answered; what is asked for
 * meanwhile is sent after it, so that the last press wins.
 */
function MaxButtons({ max: known, holders }: { max: number | null; holders: number }) {
  const [asked, setAsked] = useState<{ max: number | null } | null>(null);
  const wanted = useRef<{ max: number | null } | null>(null);
  useEffect(() => {
    if (wanted.current === null) setAsked(null);
  }, [known]);
  const max = asked === null ? known : asked.max;
  const set = async (next: number | null) => {
    const isSending = wanted.current !== null;
    wanted.current = { max: next };
    setAsked(wanted.current);
    if (isSending) return;
    let answer: object | null = null;
    for (let sent = null; sent !== wanted.current; ) {
      sent = wanted.current;
      const input = { max: sent.max === null ? "none" : String(sent.max) };
      answer = await act("gate", input, { said: "The gate has changed" });
    }
    wanted.current = null;
    if (answer === null) setAsked(null);
  };
  const shown = max === null ? "no limit" : String(max);
  return (
    <div class="seg" role="group" aria-label="Slots of the gate">
      <button
        type="button"
        aria-label="One slot fewer"
        title={max === null ? undefined : `viv gate --max ${max - 1}`}
        disabled={max !== null && max <= 1}
        onClick={() => void set(max === null ? Math.max(1, holders) : max - 1)}
      >
        −
      </button>
      <button
        type="button"
        aria-pressed
        aria-label={max === null ? shown : `${shown} slots: remove the limit`}
        title="viv gate --max none"
        onClick={() => void set(null)}
      >
        {shown}
      </button>
      <button
        type="button"
        aria-label="One slot more"
        title={max === null ? undefined : `viv gate --max ${max + 1}`}
        disabled={max === null}
        onClick={() => void set((max ?? 0) + 1)}
      >
        +
      </button>
    </div>
  );
}
