import type { Report } from "../../../../src/overview/report/report-shape.ts";
import { clock, count, dollars, percent, shareOf } from "../../parts/format.ts";
import { Fact, Meter, Panel } from "../../parts/panel.tsx";

/** Done, proven, landed; and what is left. */
export function Funnel({ report }: { report: Report }) {
  const { counts, done, landed } = report;
  const total = tasksIn(report);
  const bars: [string, number, number][] = [
    ["Done", done.count, 0.45],
    ["Proven", done.proven, 0.7],
    ["Landed", landed.count, 1],
  ];
  const most = Math.max(total, done.count, 1);
  const left = counts.pending + counts.waiting;
  return (
    <Panel title="Done, proven, landed" note={`of ${count(total)}`}>
      <div class="pad">
        <div class="funnel s-done">
          {bars.map(([label, value, opacity]) => (
            <>
              <span class="t2">{label}</span>
              <Meter share={value / most} label={`${label}, of all tasks`} opacity={opacity} />
              <span class="big right">{count(value)}</span>
            </>
          ))}
        </div>
        <hr class="rule" />
        <Fact label="Branches to merge">{count(landed.waiting)}</Fact>
        <Fact label="Done without proof">{count(done.count - done.proven)}</Fact>
        {landed.lost.length > 0 && (
          <Fact label="No longer in the target">{count(landed.lost.length)}</Fact>
        )}
        <Fact label="Still to do">{count(left)} ready or waiting</Fact>
      </div>
    </Panel>
  );
}

export function tasksIn({ counts }: Pick<Report, "counts">): number {
  const { quarantined: _, ...tasks } = counts;
  return Object.values(tasks).reduce((sum, n) => sum + n, 0);
}

/** What it cost, beside the budget of the day, or of the run. */
export function Cost({ report }: { report: Report }) {
  const { cost, done } = report;
  const day = cost.budgets.find(({ of, unit }) => of === "day" && unit === "usd");
  const run = cost.budgets.find(({ of, unit }) => of === "run" && unit === "usd");
  const budget = day ?? run;
  const spent = budget?.spent ?? cost.usd;
  const plus = cost.unpriced_tokens > 0 ? "+" : "";
  return (
    <Panel title={day ? "Cost today" : "Cost"} className="grows">
      <div class="pad">
        <div class="row baseline">
          <span class="big">
            {dollars(spent)}
            {plus}
          </span>
          {budget && <span class="t3">of {dollars(budget.limit)}</span>}
          <span class="grow" />
          {budget && <span class="t2">{percent(shareOf(budget))}</span>}
        </div>
        {budget && <Meter share={shareOf(budget)} label="Spent, of the budget" />}
        <Fact label="Per proven task">
          {done.proven > 0 && cost.usd > 0 ? dollars(cost.usd / done.proven, 3) : "–"}
        </Fact>
        <Fact label="Per landed task">
          {cost.usd_per_landed === null || cost.usd === 0 ? "–" : dollars(cost.usd_per_landed, 3)}
        </Fact>
        {cost.crew_today_usd !== null && cost.crew_today_usd > 0 && (
          <Fact label="Crew today">{dollars(cost.crew_today_usd)}</Fact>
        )}
        {day && <Fact label="Day budget lasts">{lasts(day)}</Fact>}
      </div>
    </Panel>
  );
}

/** At the pace of today (UTC, as budgets count). */
function lasts({ spent, limit }: { spent: number; limit: number }): string {
  if (spent >= limit) return "used up";
  const midnight = new Date().setUTCHours(0, 0, 0, 0);
  const until = midnight + (Date.now() - midnight) * (limit / Math.max(spent, 1e-9));
  return until >= midnight + 86_400_000 ? "the whole day" : `until ${clock(until)}`;
}
