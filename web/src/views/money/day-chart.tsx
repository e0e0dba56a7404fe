import { useEffect, useRef } from "preact/hooks";
import type { Money } from "../../live/data-shapes.ts";
import { counted, dollars } from "../../parts/format.ts";
import { useWidth } from "../../parts/use-width.ts";
import { stackOf } from "./stack.ts";

/** Steps of the accent, then of grey; further models share the last. */
const STEPS = 5;
export const stepOf = (at: number) => Math.min(at + 1, STEPS);

const MOST_DAYS = 31;

/** The models of these days, the dearest first. */
export function modelsIn(days: Money["days"]): string[] {
  const sums = new Map<string, number>();
  for (const { models } of days) {
    for (const { model, usd } of models) sums.set(model, (sums.get(model) ?? 0) + usd);
  }
  return [...sums].sort(([, a], [, b]) => b - a).map(([model]) => model);
}

/** Dollars per day, stacked by model; drawn by uPlot, which is loaded for it. */
export function DayChart({ money, models }: { money: Money; models: readonly string[] }) {
  const { days, budgets } = money;
  const { ref, width } = useWidth<HTMLDivElement>();
  const place = useRef<HTMLDivElement>(null);
  const colours = useRef<HTMLDivElement>(null);
  const shown = days.slice(-MOST_DAYS);
  const limit = budgets.find(({ of, unit }) => of === "day" && unit === "usd")?.limit;
  useEffect(() => {
    const element = place.current;
    if (width === 0 || element === null || shown.length === 0) return;
    let chart: { destroy(): void } | null = null;
    let isOver = false;
    const draw = async () => {
      const { drawDays } = await import("./draw-days.ts");
      if (isOver) return;
      chart?.destroy();
      const look = (at: number) =>
        getComputedStyle(colours.current?.children[at] as Element).backgroundColor;
      chart = drawDays(element, {
        ...{ width, limit, stack: stackOf(shown, models, money) },
        colours: models.map((_, at) => look(stepOf(at) - 1)),
        ...{ text: look(STEPS), grid: look(STEPS + 1), ink: look(STEPS + 2) },
      });
    };
    void draw();
    // Canvas has no variables: drawn again when the theme changes.
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const again = () => void draw();
    scheme.addEventListener("change", again);
    const theme = new MutationObserver(again);
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      isOver = true;
      scheme.removeEventListener("change", again);
      theme.disconnect();
      chart?.destroy();
    };
  }, [width, days, models.join("\n"), limit]);
  const sum = shown.reduce((all, { usd }) => all + usd, 0);
  return (
    <div class="pad">
      <div ref={ref}>
        <div
          ref={place}
          class="days"
          role="img"
          aria-label={`Dollars per day, ${counted(shown.length, "day")}, ${dollars(sum)} in all; a table of it follows.`}
        />
      </div>
      <div ref={colours} class="unseen" aria-hidden="true">
        {Array.from({ length: STEPS }, (_, at) => (
          <i key={at} class={`swatch m${at + 1}`} />
        ))}
        <i class="swatch of-text" />
        <i class="swatch of-line" />
        <i class="swatch of-ink" />
      </div>
      <table class="unseen">
        <caption>Dollars per day</caption>
        <thead>
          <tr>
            <th>Day</th>
            <th>Dollars</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ key, usd }) => (
            <tr key={key}>
              <td>{key}</td>
              <td>{dollars(usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
