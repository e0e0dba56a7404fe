import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { dollars } from "../../parts/format.ts";
import type { Stack } from "./stack.ts";

const HEIGHT = 280;
const FONT = '11px -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
const DAYS = ["Su", "Mo", "Tu", "We", "Th", "Fr", "Sa"];

interface Look {
  width: number;
  stack: Stack;
  limit: number | undefined;
  colours: readonly string[];
  text: string;
  grid: string;
  ink: string;
}

/** The whole stack first, then what is below, over it. */
export function drawDays(place: HTMLElement, look: Look): { destroy(): void } {
  const { width, stack, limit, colours, text, grid } = look;
  const most = Math.max(...stack.sums, limit ?? 0, 0.1);
  const today = Math.floor(Date.now() / 86_400_000) * 86_400;
  const bars = uPlot.paths.bars?.({ size: [0.64, 56], radius: 0 });
  const layers = stack.tops.map((tops, at) => ({ tops, colour: colours[at] ?? "" })).toReversed();
  const isNarrow = width < 520;
  const axis = { stroke: text, font: FONT, ticks: { show: false }, border: { show: false } };
  const options: uPlot.Options = {
    ...{ width, height: isNarrow ? 190 : HEIGHT, padding: [12, 4, 0, 0] },
    legend: { show: false },
    cursor: { drag: { x: false, y: false, setScale: false }, points: { show: false }, y: false },
    scales: {
      x: { time: false, range: (_, min, max) => [min - 43_200, max + 43_200] },
      y: { range: () => [0, most * 1.06] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        splits: () => stack.days.filter((_, at, all) => !isNarrow || (all.length - at) % 2 === 1),
        values: (_, splits) => splits.map((day) => (day === today ? "Today" : nameOf(day))),
      },
      {
        ...axis,
        grid: { stroke: grid, width: 1 },
        size: 44,
        values: (_, splits) => splits.map((usd) => dollars(usd, usd % 1 ? 2 : 0)),
      },
    ],
    series: [
      {},
      ...layers.map(({ colour }) => ({
        fill: colour,
        width: 0,
        paths: bars,
        points: { show: false },
      })),
    ],
    hooks: {
      draw: [(chart) => drawLimit(chart, limit, look)],
      setCursor: [(chart) => tell(chart, stack)],
    },
  };
  return new uPlot(options, [stack.days, ...layers.map(({ tops }) => tops)], place);
}

function nameOf(day: number): string {
  const date = new Date(day * 1000);
  return `${DAYS[date.getUTCDay()]} ${date.getUTCDate()}`;
}

function drawLimit(chart: uPlot, limit: number | undefined, { ink, text }: Look): void {
  if (limit === undefined) return;
  const { ctx, bbox } = chart;
  const y = chart.valToPos(limit, "y", true);
  ctx.save();
  ctx.strokeStyle = ink;
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.fillStyle = text;
  ctx.font = FONT.replace("11px", `${11 * devicePixelRatio}px`);
  ctx.textAlign = "right";
  ctx.fillText(
    `budget of a day ${dollars(limit)}`,
    bbox.left + bbox.width,
    y - 7 * devicePixelRatio,
  );
  ctx.restore();
}

/** The day under the pointer, as the chart's title. */
function tell(chart: uPlot, stack: Stack): void {
  const at = chart.cursor.idx;
  const sum = at === null || at === undefined ? undefined : stack.sums[at];
  const day = at === null || at === undefined ? undefined : stack.days[at];
  const title = sum === undefined || day === undefined ? "" : `${nameOf(day)}: ${dollars(sum)}`;
  if (chart.root.title !== title) chart.root.title = title;
}
