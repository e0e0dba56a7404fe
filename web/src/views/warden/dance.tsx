import { computed } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { apiPath } from "../../live/api.ts";
import { now } from "../../live/clock.ts";
import type { PoolStatus, Screen } from "../../live/data-shapes.ts";
import { useResource } from "../../live/resource.ts";
import { Arc } from "../../parts/arc.tsx";
import { clockSeconds, duration } from "../../parts/format.ts";
import { Chip, type Tone } from "../../parts/glyph.tsx";
import { AnsiLine } from "../../parts/lines.tsx";
import { plain } from "../../parts/plain.ts";
import { act, commandOf, once } from "../../shell/act.ts";

type DanceView = PoolStatus["dogs"][number];

const KINDS: Record<DanceView["kind"], string> = {
  tmux: "tmux session",
  pid: "process",
  worker: "worker",
  agent: "agent",
};

const WORDS: Record<DanceView["state"], { tone: Tone; word: string }> = {
  idle: { tone: "ready", word: "Begins" },
  interrogating: { tone: "review", word: "Interrogating" },
  evaluating: { tone: "review", word: "Evaluating" },
  pardoned: { tone: "done", word: "Pardoned" },
  executing: { tone: "failed", word: "Executing" },
  complete: { tone: "done", word: "Complete" },
  failed: { tone: "failed", word: "Failed" },
};

/** One dog and its suspect: how long it may still answer, and its screen as it is. */
export function Dance({
  dance,
  timeouts,
  onChange,
}: {
  dance: DanceView;
  timeouts: readonly number[];
  onChange: () => void;
}) {
  const { target, kind, state, attempt, attempts, reason, requester, dog, warrant, held } = dance;
  const { tone, word } = WORDS[state];
  const run = async (op: string, input: object, said: string, command?: string) => {
    if (await act(op, input, { said, command })) onChange();
  };
  const isOpen = state === "interrogating" || state === "evaluating" || state === "idle";
  return (
    <article class={`dance s-${tone}`} aria-label={`${target}, ${word}`}>
      <div class="about">
        <div class="row">
          <Ring dance={dance} limit={timeouts[attempt - 1] ?? 60_000} />
          <div class="cut">
            <h3 class="cut">
              <bdi>{plain(target)}</bdi>
            </h3>
            <div class="sm t3">{KINDS[kind]}</div>
            <Chip tone={tone} bare>
              {word} {attempt}/{attempts}
            </Chip>
          </div>
        </div>
        <Attempts dance={dance} timeouts={timeouts} />
        <dl class="props sm">
          <dt>Reason</dt>
          <dd class="cut">
            <bdi>{plain(reason)}</bdi>
          </dd>
          <dt>Filed by</dt>
          <dd class="cut">
            <bdi>{plain(requester)}</bdi>
          </dd>
          <dt>Dog</dt>
          <dd class="cut">{dog}</dd>
          <dt>Warrant</dt>
          <dd class="cut mono">{warrant}</dd>
          {held && (
            <>
              <dt>Held</dt>
              <dd class="c s-review">
                <bdi>{plain(held)}</bdi>
              </dd>
            </>
          )}
        </dl>
        {isOpen && (
          <div class="row">
            <button
              type="button"
              class="btn"
              title={commandOf("warrant withdraw", { id: warrant })}
              onClick={once(() =>
                run("warrant withdraw", { id: warrant }, `${target} is left in peace`),
              )}
            >
              Withdraw
            </button>
            <button
              type="button"
              class="btn quiet"
              title={`viv dog pool release ${dog}`}
              onClick={once(() =>
                run(
                  "dog pool release",
                  { dog },
                  `${dog} lets it go; the warrant waits again`,
                  `viv dog pool release ${dog}`,
                ),
              )}
            >
              Release
            </button>
          </div>
        )}
      </div>
      <ScreenView id={warrant} target={target} />
    </article>
  );
}

/** Of a countdown: `74s`; from ten minutes on, minutes. */
function seconds(ms: number): string {
  return ms < 600_000 ? `${Math.ceil(ms / 1000)}s` : duration(ms, true);
}

const R = 30;

/** The time that is left to answer, as a ring that empties. */
function Ring({ dance, limit }: { dance: DanceView; limit: number }) {
  const { next_timeout, seconds_left, attempt, attempts } = dance;
  const left = useMemo(
    () =>
      computed(() => {
        if (seconds_left === null || next_timeout === null) return null;
        return Math.max(0, Date.parse(next_timeout) - now.value);
      }),
    [next_timeout, seconds_left === null],
  ).value;
  const share = left === null ? 0 : Math.min(1, left / limit);
  const text = left === null ? "–" : seconds(left);
  const label = left === null ? "no time runs" : `${text} left, question ${attempt} of ${attempts}`;
  return (
    <svg class="ring" width="72" height="72" viewBox="0 0 72 72" role="img" aria-label={label}>
      <circle class="face" cx="36" cy="36" r={R} />
      {share > 0 && <Arc at={36} r={R} share={share} />}
      <text x="36" y="41" text-anchor="middle">
        {text}
      </text>
    </svg>
  );
}

/** Each question with its time: silent, asked, or still to come. */
function Attempts({ dance, timeouts }: { dance: DanceView; timeouts: readonly number[] }) {
  const { attempt, next_timeout } = dance;
  const share = (limit: number) => {
    const left = Date.parse(next_timeout ?? "") - now.value;
    return Number.isNaN(left) ? 0 : Math.min(1, Math.max(0, 1 - left / limit));
  };
  return (
    <ol class="asks" aria-label={`Question ${attempt} of ${timeouts.length}`}>
      {timeouts.map((limit, at) => {
        const number = at + 1;
        const done = number < attempt ? 1 : number === attempt ? share(limit) : 0;
        const word = number < attempt ? "silent " : number === attempt ? "asked " : "";
        return (
          <li key={at}>
            <div class="meter">
              <i style={{ width: `${Math.round(done * 100)}%` }} />
            </div>
            <span class="xs t3">
              {word}
              {seconds(limit)}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

const SCREEN_MS = 2_000;

function ScreenView({ id, target }: { id: string; target: string }) {
  const { data, error, refresh } = useResource<Screen>(apiPath("warrant screen", { id }));
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) refresh();
    }, SCREEN_MS);
    return () => clearInterval(timer);
  }, [id]);
  const head =
    data === null
      ? ""
      : data.source === "log"
        ? `no terminal: the end of ${data.path}`
        : data.source === "none"
          ? `nothing to see: ${data.why}`
          : `as it was at ${clockSeconds(data.at)}`;
  return (
    <div class="screen">
      <pre class="term live" role="region" tabIndex={0} aria-label={`The screen of ${target}`}>
        <span class="d">{plain(error?.message ?? head)}</span>
        {"\n"}
        {data?.lines.map((line, at) => (
          <span key={at}>
            {"\n"}
            <AnsiLine text={line} />
          </span>
        ))}
      </pre>
    </div>
  );
}
