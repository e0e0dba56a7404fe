import { counted, dollars, moment, took } from "../../parts/format.ts";
import { Glyph, type Tone } from "../../parts/glyph.tsx";
import { AnsiLine, Lines } from "../../parts/lines.tsx";
import { plain } from "../../parts/plain.ts";
import { Since } from "../../parts/since.tsx";
import { splitLines } from "../../parts/split-lines.ts";
import { type Attempt, rowsOf } from "./attempts-of.ts";
import type { Shown } from "./use-task.ts";

const TONE: Record<string, Tone> = {
  done: "done",
  failed: "failed",
  unproven: "failed",
  timed_out: "failed",
};
/** They are no fault of the task, and do not count. */
const UNCOUNTED = ["rate_limited", "setup_failed", "released", "abandoned", "handed_in"];

export function Attempts({ attempts, shown }: { attempts: readonly Attempt[]; shown: Shown }) {
  const rows = rowsOf(shown.history, shown.ledger, attempts);
  const uncounted = attempts.filter(({ outcome }) => UNCOUNTED.includes(outcome ?? "")).length;
  return (
    <section>
      <h2>
        Attempts{" "}
        <span class="n">
          {attempts.length}
          {uncounted > 0 && `, ${uncounted === 1 ? "one does" : `${uncounted} do`} not count`}
        </span>
      </h2>
      {rows.length === 0 && <p class="t3">None yet.</p>}
      <ol>
        {rows.map((one) =>
          "text" in one ? (
            <li key={`${one.at} ${one.text}`} class="attempt s-none">
              <Glyph tone="none" />
              <bdi class="said t2">{plain(one.text.slice(0, 2_000))}</bdi>
              <span class="sm t3 right when">{moment(one.at)}</span>
            </li>
          ) : (
            <AttemptRow key={one.number} attempt={one} />
          ),
        )}
      </ol>
    </section>
  );
}

function AttemptRow({ attempt }: { attempt: Attempt }) {
  const { outcome, worker, model, began, ended, note, spent, isProven, receipt } = attempt;
  const tone = outcome === null ? "working" : (TONE[outcome] ?? "none");
  const word = outcome === null ? "working" : outcome === "done" && isProven ? "proven" : outcome;
  const tookMs = began && ended ? Date.parse(ended) - Date.parse(began) : null;
  return (
    <li class={`attempt s-${tone}`}>
      <Glyph tone={tone} />
      <span class={tone === "none" ? "t2" : "c"}>{word.replaceAll("_", " ")}</span>
      <span class="cut who">
        <b>
          <bdi>{worker}</bdi>
        </b>{" "}
        <bdi class="t2">{plain(model ?? "")}</bdi>
      </span>
      <span class="sm t3 right when">{ended ? moment(ended) : began ? moment(began) : ""}</span>
      <span class="sm t2 right">
        {tookMs === null ? ended === null && <Since at={began} /> : took(tookMs)}
      </span>
      <span class="right">{spent.usd === null ? "" : dollars(spent.usd)}</span>
      {note !== "" && <Evidence note={note} isBad={tone === "failed"} />}
      {receipt && (
        <div class="evidence sm t2">
          The warden ended it: <code>{receipt}</code>
        </div>
      )}
    </li>
  );
}

const SHORT = 3;

function Evidence({ note, isBad }: { note: string; isBad: boolean }) {
  const lines = splitLines(note);
  if (!isBad || lines.length === 1)
    return <bdi class="evidence sm t2">{plain(note.slice(0, 2_000))}</bdi>;
  return (
    <div class="evidence">
      <Lines
        total={lines.length}
        line={(at) => <AnsiLine text={lines[at] ?? ""} />}
        most={SHORT * 60}
        label={`Evidence, ${counted(lines.length, "line")}`}
      />
    </div>
  );
}
