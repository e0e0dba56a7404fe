import { useMemo } from "preact/hooks";
import { Command } from "../../parts/command.tsx";
import { dollars, moment, shellWord, took } from "../../parts/format.ts";
import { Chip, COLUMN_LABEL, columnOf, Glyph } from "../../parts/glyph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { AnsiLine, Lines } from "../../parts/lines.tsx";
import { Failure } from "../../parts/panel.tsx";
import { plain, titleOf } from "../../parts/plain.ts";
import { splitLines } from "../../parts/split-lines.ts";
import { Artifact } from "./artifact.tsx";
import { Attempts } from "./attempts.tsx";
import { attemptsOf, sumOf } from "./attempts-of.ts";
import { Changes } from "./changes.tsx";
import { Commands, Details, Payload, TaskCost } from "./details.tsx";
import { Log } from "./log.tsx";
import { Neighbourhood } from "./neighbourhood.tsx";
import "./task.css";
import type { Shown, TaskData, Why } from "./use-task.ts";

/** Everything about a task, in the drawer or as a whole page. */
export function TaskBody({ id, data }: { id: string; data: TaskData }) {
  const { show, why, neighbours } = data;
  const shown = show.data;
  const attempts = useMemo(
    () =>
      shown === null
        ? []
        : attemptsOf(shown.history, shown.ledger, shown.state === "claimed" ? shown : null),
    [shown],
  );
  if (shown === null) {
    return show.error ? (
      <Failure error={show.error} retry={show.refresh} />
    ) : (
      <p class="t3">Reading…</p>
    );
  }
  const tone = columnOf(shown.state);
  const isLive = shown.state === "claimed";
  const log = <Log id={id} isLive={isLive} attempt={attempts.length} />;
  return (
    <div class="task">
      <h2 class="task-title">
        <bdi>{titleOf(shown.task?.payload) || id}</bdi>
      </h2>
      <Facts shown={shown} attempt={attempts.length} usd={sumOf(attempts).usd} />
      {why.data && <WhyBox why={why.data} tone={tone} />}
      {shown.state === "quarantined" && shown.reason && (
        <p class="note s-failed">
          <bdi>{plain(shown.reason)}</bdi>
        </p>
      )}
      <div class="task-grid">
        <div class="main-part">
          {isLive && log}
          <Attempts attempts={attempts} shown={shown} />
          <Proof proof={shown.proof} />
          {shown.landing && <Changes id={id} />}
          {attempts.length > 0 && <Artifact id={id} at={`${shown.state} ${shown.since}`} />}
          {!isLive && attempts.length > 0 && log}
          <Payload payload={shown.task?.payload} />
        </div>
        <div class="side-part">
          {neighbours.data && <Neighbourhood of={neighbours.data} tone={tone} id={id} />}
          <Details shown={shown} />
          <TaskCost attempts={attempts} limit={budgetOf(shown)} />
          <Commands id={id} state={shown.state} hasBranch={shown.landing !== undefined} />
        </div>
      </div>
    </div>
  );
}

function budgetOf({ task }: Shown): number | null {
  const budget = task?.budget as { usd?: unknown } | undefined;
  return typeof budget?.usd === "number" ? budget.usd : null;
}

function Facts({ shown, attempt, usd }: { shown: Shown; attempt: number; usd: number | null }) {
  const { state, type, worker, task, landing, unproven } = shown;
  const tone = columnOf(state);
  const most = task?.max_attempts;
  return (
    <div class="facts">
      <Chip tone={tone}>
        {tone === "none" || state === "cancelled" ? state : COLUMN_LABEL[tone]}
      </Chip>
      <bdi>{type}</bdi>
      {worker && <bdi>{worker}</bdi>}
      {attempt > 0 && (
        <span>
          attempt {attempt}
          {typeof most === "number" && most >= attempt && ` of ${most}`}
        </span>
      )}
      {usd !== null && <span>{dollars(usd)}</span>}
      {unproven && <span class="c s-review">unproven</span>}
      {landing?.landed && (
        <span class="row">
          <Icon name="merge" size={12} />
          landed in {landing.landed.target}
        </span>
      )}
    </div>
  );
}

/** The sentence of `viv why`, then the reasons, each with the command that would change it. */
function WhyBox({ why: { id, reasons }, tone }: { why: Why; tone: string }) {
  const [first, ...others] = reasons;
  return (
    <div class={`why s-${tone}`}>
      <div class="first">
        <b>
          <bdi>{first ? plain(first.text) : "nothing holds it back; it will move in a moment"}</bdi>
        </b>
        <WhyCommands text={first?.command ?? `viv why ${shellWord(id)}`} />
      </div>
      {first?.log && <pre class="term">{plain(first.log.join("\n"))}</pre>}
      {others.length > 0 && (
        <ol>
          {others.map(({ code, text, command }) => (
            <li key={`${code}${text}`}>
              <bdi>{plain(text)}</bdi>
              {command && <WhyCommands text={command} />}
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

/** `viv approve ID    # or: viv reject ID --note "…"` are two. */
function WhyCommands({ text }: { text: string }) {
  return (
    <span class="commands">
      {text.split(/ +# or: /).map((one) => (
        <Command key={one} text={one} />
      ))}
    </span>
  );
}

function Proof({ proof }: { proof: Shown["proof"] }) {
  const lines = useMemo(() => (proof?.output ? splitLines(proof.output) : []), [proof?.output]);
  if (proof === undefined) return null;
  const isGood = proof.exit === 0;
  const end = proof.timed_out
    ? "timed out"
    : proof.signal
      ? `ended by ${proof.signal}`
      : `exit ${proof.exit}`;
  return (
    <section>
      <h2>
        Proof <Glyph tone={isGood ? "done" : "failed"} label={isGood ? "passed" : "failed"} />
        <span class="n">
          {end} after {took(proof.duration_ms)}, attempt {proof.attempt}, {moment(proof.at)}
        </span>
      </h2>
      <Lines
        total={lines.length + 1}
        line={(at) =>
          at === 0 ? (
            <>
              <span class="t3">$ </span>
              <b>{plain(proof.command)}</b>
            </>
          ) : (
            <AnsiLine text={lines[at - 1] ?? ""} />
          )
        }
        most={240}
        label="Output of the proof"
      />
    </section>
  );
}
