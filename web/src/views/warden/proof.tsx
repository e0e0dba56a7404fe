import { useEffect, useRef } from "preact/hooks";
import type { Receipt } from "../../../../src/warden/dance.ts";
import { apiPath } from "../../live/api.ts";
import { useResource } from "../../live/resource.ts";
import { Command } from "../../parts/command.tsx";
import { clockSeconds, counted, fullTime, moment, took } from "../../parts/format.ts";
import { AnsiLine } from "../../parts/lines.tsx";
import { Failure } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";

/** A receipt: what was asked, what was answered, what was seen, and how each process ended. */
export function Proof({ id }: { id: string }) {
  const { data, error, refresh } = useResource<{ receipt: Receipt }>(apiPath("epitaph", { id }));
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.scrollIntoView({ block: "nearest" }), [data === null]);
  return (
    <div class="proof-of" ref={place}>
      {data !== null ? (
        <Parts receipt={data.receipt} />
      ) : error ? (
        <Failure error={error} retry={refresh} />
      ) : (
        <p class="t3">Reading…</p>
      )}
    </div>
  );
}

function Parts({ receipt }: { receipt: Receipt }) {
  const { dog, warrant, verdict, why, attempts, screen_before, screen_after } = receipt;
  const { exit, survivors } = receipt;
  return (
    <>
      <p class="t2">
        <b>
          <bdi>{plain(warrant.target)}</bdi> {verdict.replace("_", " ")}
        </b>
        , <bdi>{plain(why)}</bdi>. Reason: <bdi>{plain(warrant.reason)}</bdi>, filed by{" "}
        <bdi>{plain(warrant.requester)}</bdi>, carried out by {dog}.{" "}
        <Command text={`viv epitaph ${warrant.id}`} />
      </p>
      <h3>Questions</h3>
      {attempts.length === 0 && <p class="t3">It was not asked.</p>}
      <ol>
        {attempts.map((one) => (
          <Question key={one.number} attempt={one} />
        ))}
      </ol>
      <ScreenPart title="Its screen before" lines={screen_before} />
      <ScreenPart title="Its screen after" lines={screen_after} />
      <h3>Processes</h3>
      {exit.length === 0 && <p class="t3">No process was ended.</p>}
      <ul>
        {exit.map(({ pid, command, signal, gone_at }) => (
          <li key={pid}>
            <span class="mono t3">{pid}</span>
            <span class="mono cut grow">
              <bdi>{plain(command)}</bdi>
            </span>
            <span class="t2">{signal === "none" ? "ended by itself" : signal}</span>
            <span class={gone_at === null ? "c s-failed" : "t3"}>
              {gone_at === null ? "still there" : `gone ${moment(gone_at)}`}
            </span>
          </li>
        ))}
      </ul>
      {survivors.length > 0 && (
        <p class="c s-failed">Survived: {survivors.map(String).join(", ")}</p>
      )}
    </>
  );
}

const ENDS: Record<string, string> = {
  replied: "answered in other words",
  work: "at work",
  waiting: "waited for a person",
  unknown: "could not be identified",
};

function Question({ attempt }: { attempt: Receipt["attempts"][number] }) {
  const { number, timeout_ms, ended, ended_at, reply, bursts } = attempt;
  return (
    <li>
      <span class="t3">{number}.</span>
      <div class="grow">
        {askedOf(attempt)}; {took(timeout_ms)} to answer
        {reply !== undefined && (
          <div class="t2">
            it said: <bdi class="mono">{plain(reply)}</bdi>
          </div>
        )}
        {bursts.map(({ at, source, what }) => (
          <div key={`${at} ${source}`} class="t2">
            {clockSeconds(at)}, <bdi>{plain(source)}</bdi>: <bdi class="mono">{plain(what)}</bdi>
          </div>
        ))}
      </div>
      <span>{ended === null ? "no end" : (ENDS[ended] ?? ended)}</span>
      <span class="t3" title={ended_at === null ? undefined : fullTime(ended_at)}>
        {ended_at !== null && clockSeconds(ended_at)}
      </span>
    </li>
  );
}

/** As the epitaph says it. */
function askedOf(attempt: Receipt["attempts"][number]): string {
  const { asked_at, channel, arrived, submitted, unasked, queued } = attempt;
  const where = channel === null ? "" : ` in ${plain(channel)}`;
  if (asked_at === null) return unasked ? `not asked (${plain(unasked)})` : `not asked${where}`;
  const seen = arrived ? (submitted ? "" : ", not seen to be submitted") : ", not seen to arrive";
  return `asked at ${clockSeconds(asked_at)}${where}${seen}${queued ? ", held back until its turn ends" : ""}`;
}

function ScreenPart({ title, lines }: { title: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <details>
      <summary>
        {title} <span class="t3">{counted(lines.length, "line")}</span>
      </summary>
      <pre class="term" tabIndex={0}>
        {lines.map((line, at) => (
          <div key={at}>
            <AnsiLine text={line} />
            {"\n"}
          </div>
        ))}
      </pre>
    </details>
  );
}
