import type { Report } from "../../../../src/overview/report/report-shape.ts";
import { apiPath } from "../../live/api.ts";
import { useResource } from "../../live/resource.ts";
import type { Cards } from "../../live/shapes.ts";
import { Command } from "../../parts/command.tsx";
import { clock, count } from "../../parts/format.ts";
import { type Column, Glyph, type Tone } from "../../parts/glyph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Panel } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { routeHref, taskHref } from "../../shell/router.ts";

const LOOKED_AT = 200;
const MOST = 6;

/** What waits, by its reason. */
export function Stuck() {
  const windows = `waiting:0:${LOOKED_AT},ready:0:${LOOKED_AT}`;
  const { data } = useResource<Cards>(apiPath("cards", { windows }), {
    refreshOn: ["task"],
    every: 3_000,
  });
  const reasons = new Map<string, { n: number; column: Column }>();
  for (const { fact, column } of data?.windows.flatMap(({ cards }) => cards) ?? []) {
    const known = reasons.get(fact ?? "in the queue");
    if (known) known.n++;
    else reasons.set(fact ?? "in the queue", { n: 1, column });
  }
  const total = (data?.counts.waiting ?? 0) + (data?.counts.ready ?? 0);
  const seen = data?.windows.reduce((sum, { cards }) => sum + cards.length, 0) ?? 0;
  const sorted = [...reasons].sort(([, a], [, b]) => b.n - a.n);
  return (
    <Panel
      title="Stuck, and why"
      note={seen < total ? `of the first ${count(seen)}` : count(total)}
    >
      <ul class="list">
        {sorted.slice(0, MOST).map(([text, { n, column }]) => (
          <li key={text}>
            <Glyph tone={toneOf(text, column)} />
            <bdi class="cut grow">{plain(text)}</bdi>
            <span class="t2">{count(n)}</span>
          </li>
        ))}
        {sorted.length === 0 && <li class="t3">Nothing waits.</li>}
      </ul>
    </Panel>
  );
}

function toneOf(text: string, column: Column): Tone {
  if (text.includes("failed")) return "failed";
  return text.includes("parked") || text.includes("review") ? "review" : column;
}

export function Landed({ report: { landed } }: { report: Report }) {
  const { targets } = landed;
  return (
    <Panel title="Landed" note={count(landed.count)}>
      <ul class="list">
        {targets.slice(0, MOST).map(({ repository, target, count: n, command }) => (
          <li key={`${repository} ${target}`}>
            <Icon name="merge" size={14} />
            <bdi class="id cut">{plain(repository?.split("/").at(-1) ?? "?")}</bdi>
            <bdi class="sm t3 cut grow">{plain(target)}</bdi>
            {command && <Command text={command} />}
            <span>{count(n)}</span>
          </li>
        ))}
        {targets.length === 0 && <li class="t3">Nothing landed in this period.</li>}
      </ul>
    </Panel>
  );
}

/** Failures of the period with the same words, the largest group first. */
export function Failures({ report: { needs_you, counts } }: { report: Report }) {
  const groups = needs_you.filter(({ kind }) => kind === "failed" || kind === "choked");
  return (
    <Panel title="Failed, by fingerprint" note={count(counts.failed)}>
      <ul class="list">
        {groups.slice(0, MOST).map(({ kind, text, count: n, tasks }) => (
          <li key={text}>
            <a
              class="cut grow mono link"
              href={tasks[0] ? taskHref(tasks[0]) : routeHref("board", { col: "failed" })}
            >
              <bdi>{plain(text.replace(/^[\d,]+ × /, ""))}</bdi>
            </a>
            {kind === "choked" && <span class="tag">choked</span>}
            <span class="t2">{count(n)}</span>
          </li>
        ))}
        {groups.length === 0 && <li class="t3">Nothing failed in this period.</li>}
      </ul>
    </Panel>
  );
}

export function Killed({ report: { killed } }: { report: Report }) {
  if (killed.length === 0) return null;
  return (
    <Panel title="Killed" note={count(killed.length)}>
      <ul class="list">
        {killed.slice(0, MOST).map(({ target, at, why, command }) => (
          <li key={`${target} ${at}`}>
            <Glyph tone="failed" />
            <span class="t3 sm">{clock(at)}</span>
            <bdi class="id">{plain(target)}</bdi>
            <bdi class="cut grow t2">{plain(why)}</bdi>
            {command && <Command text={command} />}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
