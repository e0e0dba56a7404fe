import { formatCount, formatUsd } from "../../base/amount.ts";
import { widthOf } from "../../operation/term.ts";
import { pauseLine } from "../../queue/pause-line.ts";
import type { TaskWord } from "../../queue/states.ts";
import { headerHeight, type Model } from "./model.ts";
import { type Line, type Span, type Style, span } from "./paint.ts";
import { NAMES, ORDER } from "./rows.ts";
import type { Snapshot } from "./snapshot.ts";

/** The lines above the table: the run, its states as a bar, and its meters. */

export const STATE_STYLE: Readonly<Record<TaskWord, Style>> = {
  ...{ claimed: "blue", review: "magenta", failed: "red", pending: "yellow" },
  ...{ waiting: "cyan", done: "green", cancelled: "red" },
};

export function header(model: Model, now: number, hasColor: boolean): Line[] {
  const { snapshot, size } = model;
  const height = headerHeight(model);
  if (snapshot === null || height === 0) return [];
  const { note } = snapshot;
  const notes = [
    ...(snapshot.paused ? [[span(` ${pauseLine(snapshot.paused, now)}`, "yellow")]] : []),
    // The command stands first: a narrow terminal cuts the end.
    ...(note ? [[span(" viv config check: ", "bold"), span(note, "red")]] : []),
  ];
  const counts = countsLine(snapshot, size.columns);
  if (height === 1) return [counts];
  const rest = [counts, ...notes];
  if (size.rows < 16) return [titleLine(snapshot, now, size.columns), ...rest];
  return [
    titleLine(snapshot, now, size.columns),
    stateBar(snapshot, size.columns, hasColor),
    counts,
    meters(snapshot, size.columns),
    ...notes,
  ];
}

function titleLine({ run_id, run_dir }: Snapshot, now: number, width: number): Line {
  const time = new Date(now).toISOString().slice(11, 19);
  const left = [span(" viv top  "), span(run_id, "bold"), span(`  ${run_dir}`, "dim")];
  const used = left.reduce((sum, { text }) => sum + widthOf(text), 0);
  const gap = width - used - time.length - 5;
  return gap < 1 ? left : [...left, span(" ".repeat(gap)), span(`${time} UTC`, "dim")];
}

/** Without colours each state has a sign of its own. */
const STATE_SIGN: Readonly<Record<TaskWord, string>> = {
  ...{ claimed: "#", review: "=", failed: "!", pending: ":", waiting: ".", done: "+" },
  cancelled: "x",
};

function stateBar({ counts }: Snapshot, columns: number, hasColor: boolean): Line {
  const width = Math.max(1, columns - 4);
  const all = ORDER.reduce((sum, word) => sum + counts[word], 0);
  const parts = shares(
    ORDER.map((word) => counts[word]),
    width,
  );
  const bar = ORDER.flatMap((word, i): Span[] => {
    const part = parts[i] ?? 0;
    const sign = hasColor ? "█" : STATE_SIGN[word];
    return part === 0 ? [] : [span(sign.repeat(part), STATE_STYLE[word])];
  });
  const empty = all === 0 ? [span("·".repeat(width), "dim")] : [];
  return [span(" ["), ...bar, ...empty, span("]")];
}

/** Columns for each number; what there is at all has one, so that a single failure is seen. */
export function shares(numbers: readonly number[], width: number): number[] {
  const all = numbers.reduce((sum, one) => sum + one, 0);
  if (all === 0) return numbers.map(() => 0);
  const parts = numbers.map((one) =>
    one === 0 ? 0 : Math.max(1, Math.floor((one * width) / all)),
  );
  for (let over = width - parts.reduce((sum, one) => sum + one, 0); over !== 0; ) {
    const largest = parts.indexOf(Math.max(...parts));
    const by = over > 0 ? over : parts[largest] === 1 ? 0 : -1;
    if (by === 0) break; // more states than columns
    parts[largest] = (parts[largest] ?? 0) + by;
    over -= by;
  }
  return parts;
}

function countsLine({ counts }: Snapshot, columns: number): Line {
  const parts = ORDER.map((word) => {
    const text = ` ${NAMES[word]} ${formatCount(counts[word])} `;
    return counts[word] > 0 ? span(text, STATE_STYLE[word]) : span(text, "dim");
  });
  if (counts.quarantined > 0) parts.push(span(` quarantined ${counts.quarantined}`, "red"));
  const width = parts.reduce((sum, { text }) => sum + text.length, 0);
  // What there is none of gives way.
  return width <= columns ? parts : parts.filter(({ styles }) => !styles?.includes("dim"));
}

function meters({ workers, gate, cost, events_per_minute }: Snapshot, columns: number): Line {
  const running = workers.filter(({ alive }) => alive);
  const busy = running.filter(({ claims }) => claims.length > 0).length;
  const room = columns >= 110 ? 10 : columns >= 90 ? 6 : 0;
  const parts: Line[] = [
    [
      span(" workers "),
      ...meter(busy, running.length, room),
      span(`${busy}/${running.length} busy`),
    ],
  ];
  if (gate !== null && (gate.max !== null || gate.held + gate.queued > 0)) {
    const of = gate.max === null ? "" : `/${gate.max}`;
    const queue = gate.queued > 0 ? [span(` +${gate.queued} waiting`, "yellow")] : [];
    parts.push([
      span("gate "),
      ...(gate.max === null ? [] : meter(gate.held, gate.max, room)),
      span(`${gate.held}${of}`),
      ...queue,
    ]);
  }
  const { usd, budget } = cost;
  const of = budget === null ? "" : ` of ${formatUsd(budget)}`;
  const bar = budget === null ? [] : meter(usd, budget, room);
  parts.push([span("today "), ...bar, span(`${formatUsd(usd)}${of}`)]);
  parts.push([span(`${formatCount(events_per_minute)} events/min`)]);
  return parts.flatMap((part, i) => (i === 0 ? part : [span("   "), ...part]));
}

function meter(value: number, most: number, width: number): Span[] {
  if (width === 0) return [];
  const part = most === 0 ? 0 : Math.min(1, value / most);
  const filled = Math.round(part * width);
  const style = part >= 0.95 ? "red" : part >= 0.8 ? "yellow" : "green";
  return [
    span("["),
    span("█".repeat(filled), style),
    span("·".repeat(width - filled), "dim"),
    span("] "),
  ];
}
