import type { Money } from "../../live/data-shapes.ts";
import { amount, dollars, percent, shareOf } from "../../parts/format.ts";
import { Meter, Panel } from "../../parts/panel.tsx";

const NAMES = { day: "Day", run: "This run" };
/** From here on a budget is worth a look. */
const NEAR = 0.8;

export function Budgets({ budgets, reserved }: { budgets: Money["budgets"]; reserved: number }) {
  return (
    <Panel title="Budgets">
      <div class="pad budgets">
        {budgets.length === 0 && (
          <p class="t2">
            None is set. In viv.toml: <code>[budget] day = {"{ usd = 60.00 }"}</code>. Work stops
            where it is used up.
          </p>
        )}
        {budgets.map((budget) => {
          const { of, unit, limit, spent } = budget;
          const share = shareOf(budget);
          const show = (n: number) => (unit === "usd" ? dollars(n) : amount(n));
          const left = Math.max(0, limit - spent);
          const name = `${NAMES[of]}${unit === "tokens" ? ", tokens" : ""}`;
          return (
            <div key={`${of} ${unit}`} class={share >= NEAR ? "s-review" : ""}>
              <div class="row">
                <span class="grow">{name}</span>
                <span>{show(spent)}</span>
                <span class="t3">of {show(limit)}</span>
              </div>
              <Meter share={share} label={`${name}: ${percent(share)} used`} />
              <div class="row xs t3">
                <span class={share >= NEAR ? "c" : ""}>{percent(share)}</span>
                <span class="grow" />
                {left === 0 ? "used up: work stops" : `${show(left)} left`}
              </div>
            </div>
          );
        })}
        {reserved > 0 && (
          <p class="sm t3">{dollars(reserved)} are reserved by attempts that run now.</p>
        )}
      </div>
    </Panel>
  );
}
