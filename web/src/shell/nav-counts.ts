import type { Report } from "../../../src/overview/report/report-shape.ts";
import { apiPath, hasAnswer } from "../live/api.ts";
import { counts } from "../live/events.ts";
import { type Resource, useResource } from "../live/resource.ts";
import { count, dollars } from "../parts/format.ts";
import type { Tone } from "../parts/glyph.tsx";

export interface NavCount {
  text: string;
  /** For a screen reader: `8 things need you`. */
  label?: string;
  /** Only where a person is needed. */
  tone?: Tone;
}

/** A night, as `viv report` has it. */
export const NIGHT = "12h";

/** Read seldom: it reads the whole ledger. */
export function useReport(since = NIGHT): Resource<Report> {
  return useReportAt(apiPath("report", { since }));
}

/** For the figures beside every view, which come after what the view itself shows. */
function useReportBeside(): Resource<Report> {
  return useReportAt(hasAnswer.value ? apiPath("report", { since: NIGHT }) : null);
}

function useReportAt(path: string | null): Resource<Report> {
  return useResource<Report>(path, {
    refreshOn: ["task", "ledger"],
    match: (event) => event.kind !== "ledger" || event.data.event !== "step",
    every: 5_000,
  });
}

export function useNeedsCount(): NavCount | null {
  const needs = useReportBeside().data?.needs_you.length ?? 0;
  if (needs === 0) return null;
  return { text: count(needs), label: `${count(needs)} need you`, tone: "review" };
}

export function useBoardCount(): NavCount | null {
  const known = counts.value;
  if (known === null) return null;
  const { quarantined: _, ...tasks } = known;
  const total = Object.values(tasks).reduce((sum, n) => sum + n, 0);
  return { text: count(total), label: `${count(total)} tasks` };
}

export function useCostCount(): NavCount | null {
  const cost = useReportBeside().data?.cost;
  if (!cost || (cost.usd === 0 && cost.budgets.length === 0)) return null;
  const day = cost.budgets.find(({ of, unit }) => of === "day" && unit === "usd");
  return { text: dollars(day?.spent ?? cost.usd) };
}
