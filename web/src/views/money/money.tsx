import { apiPath } from "../../live/api.ts";
import type { Money } from "../../live/data-shapes.ts";
import { useResource } from "../../live/resource.ts";
import { Choice } from "../../parts/choice.tsx";
import { Empty } from "../../parts/empty.tsx";
import { amount, counted, dollars, percent, shareOf } from "../../parts/format.ts";
import { Failure, Panel } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { copy } from "../../shell/act.ts";
import { param, setParams } from "../../shell/router.ts";
import { Main, TopBar } from "../../shell/top-bar.tsx";
import { Budgets } from "./budgets.tsx";
import { csvOf } from "./csv.ts";
import { DayChart, modelsIn, stepOf } from "./day-chart.tsx";
import "./money.css";
import { AgentTable, SpendingTable } from "./tables.tsx";

const PERIODS = [
  { label: "Day", since: "24h" },
  { label: "14 days", since: "14d" },
  { label: "Run", since: "3650d" },
];

/** Dollars and tokens: by day, agent, model and type; per proven and landed task; budgets. */
export default function MoneyView() {
  const label = param("period") || "14 days";
  const period = PERIODS.find((one) => one.label === label) ?? PERIODS[1];
  const { data, error, refresh } = useResource<Money>(apiPath("money", { since: period?.since }), {
    refreshOn: ["usage", "ended", "landed"],
    every: 5_000,
  });
  const isEmpty = data !== null && data.total.attempts === 0;
  return (
    <>
      <TopBar title="Money" sub="days are UTC">
        <Choice
          label="Period"
          words={PERIODS.map(({ label }) => label)}
          chosen={period?.label ?? null}
          onChoose={(word) => setParams({ period: word === "14 days" ? null : word })}
        />
        {data && (
          <button
            type="button"
            class="btn quiet desk"
            title="viv costs --group-by model --json"
            onClick={() => void copy(csvOf(data))}
          >
            Copy as CSV
          </button>
        )}
      </TopBar>
      <Main>
        <div class="wrap">
          {error && <Failure error={error} retry={refresh} />}
          {isEmpty && (
            <Empty
              title="No model has run yet"
              lessons={[
                { title: "Give a route an engine, in viv.toml", command: "viv config check" },
                { title: "What a model costs", command: "viv prices" },
              ]}
            >
              Each model run reports its tokens and dollars. They are added up here.
            </Empty>
          )}
          {data && !isEmpty && <Figures money={data} label={period?.label ?? ""} />}
        </div>
      </Main>
    </>
  );
}

function Figures({ money, label }: { money: Money; label: string }) {
  const { total, by, days, budgets } = money;
  const agents = by.agent.some(({ key }) => key !== null) ? by.agent : by.worker;
  const models = modelsIn(days);
  return (
    <>
      <Stats money={money} label={label} />
      <div class="cols-2">
        <Panel
          title="Per day"
          controls={
            <div class="legend">
              {models.map((model, at) => (
                <span key={model} class={`m${stepOf(at)}`}>
                  <i class="swatch" />
                  <bdi>{plain(model)}</bdi>
                </span>
              ))}
            </div>
          }
        >
          <DayChart money={money} models={models} />
        </Panel>
        <Budgets budgets={budgets} reserved={money.reserved_usd} />
      </div>
      <div class="cols-money">
        <AgentTable rows={agents} note={label.toLowerCase()} />
        <SpendingTable title="By model" rows={by.model} total={total} note={label.toLowerCase()} />
      </div>
      <SpendingTable title="By type" rows={by.type} total={total} note={label.toLowerCase()} />
    </>
  );
}

function Stats({ money, label }: { money: Money; label: string }) {
  const { total, days, budgets, until } = money;
  const day = budgets.find(({ of, unit }) => of === "day" && unit === "usd");
  const run = budgets.find(({ of, unit }) => of === "run" && unit === "usd");
  const today = days.find(({ key }) => key === until.slice(0, 10));
  const spentToday = day?.spent ?? today?.usd ?? 0;
  const ofLimit = (one: typeof day) =>
    one === undefined ? "no budget" : `of ${dollars(one.limit)}, ${percent(shareOf(one))}`;
  const per = (usd: number | null) => (usd === null ? "–" : dollars(usd, 3));
  const figures = [
    { name: "Today", value: dollars(spentToday), note: ofLimit(day) },
    {
      name: "Per proven task",
      value: per(total.usd_per_proven),
      note: `${counted(total.proven, "task")} proven, ${label.toLowerCase()}`,
    },
    {
      name: "Per landed task",
      value: per(total.usd_per_landed),
      note: `${counted(total.landed, "task")} landed`,
    },
    run === undefined
      ? {
          name: label === "Run" ? "This run" : label,
          value: dollars(total.usd),
          note: `${counted(total.attempts, "attempt")}, ${amount(tokensOf(total))} tokens`,
        }
      : { name: "This run", value: dollars(run.spent), note: ofLimit(run) },
  ];
  return (
    <>
      <section class="panel stats" aria-label="In short">
        {figures.map(({ name, value, note }) => (
          <div key={name}>
            <div class="t2">{name}</div>
            <div class="big">{value}</div>
            <div class="sm t3">{note}</div>
          </div>
        ))}
      </section>
      {(total.unpriced_tokens > 0 || money.unreadable > 0) && (
        <div class="note s-review">
          <span>
            {total.unpriced_tokens > 0 &&
              `${amount(total.unpriced_tokens)} tokens have no price and are in no sum: add [prices."MODEL"] to viv.toml. `}
            {money.unreadable > 0 &&
              `${counted(money.unreadable, "attempt")} did not report all usage.`}
          </span>
        </div>
      )}
    </>
  );
}

function tokensOf({ tokens }: Money["total"]): number {
  return tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
}
