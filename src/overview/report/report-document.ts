import { formatCount, formatUsd } from "../../base/amount.ts";
import { formatDuration, formatTook } from "../../base/duration.ts";
import { counted } from "../../base/text.ts";
import type { Need, Report } from "./report-shape.ts";

/** A report in words, which the terminal, Markdown and HTML each set in their own way. */
export interface ReportDocument {
  title: string;
  place: string;
  period: string;
  needsTitle: string;
  needs: Entry[];
  facts: Fact[];
  worked: { title: string; rows: WorkedRow[]; more: string };
  killed: Entry[];
  notes: string[];
}

export type Tone = "good" | "bad" | "warn" | "plain";

/** `label` and `subject` may not be cut, and neither may the command: it is pasted. */
export interface Entry {
  label: string;
  subject: string;
  text: string;
  command: string | null;
  tone: Tone;
}

export interface Fact {
  label: string;
  text: string;
  tone: Tone;
}

export interface WorkedRow {
  name: string;
  when: string;
  tasks: string;
  busy: string;
  /** A mark for each part of the period. */
  bar: string;
}

/** How much fits. */
export interface Room {
  /** Lines about what needs a person. */
  needs: number;
  workers: number;
  top: number;
  /** Of tasks in a sentence. */
  names: number;
  killed: number;
}

export const SCREEN: Room = { needs: 12, workers: 4, top: 3, names: 4, killed: 2 };
export const PAGE: Room = { needs: 60, workers: 30, top: 5, names: 20, killed: 20 };

export function documentOf(report: Report, room: Room): ReportDocument {
  const { run_id, run_dir, since, until, needs_you, notes } = report;
  const span = Date.parse(until) - Date.parse(since);
  const things = needs_you.length;
  return {
    title: run_id,
    place: run_dir,
    period: `${formatDuration(span)} since ${since.slice(0, 16).replace("T", " ")} UTC`,
    needsTitle: things === 0 ? "Nothing needs you" : "Needs you",
    needs: needEntries(report, room.needs),
    facts: [...doneFacts(report, room), ...costFacts(report), ...topFacts(report, room)],
    worked: workedPart(report, room.workers),
    killed: killedEntries(report, room),
    notes,
  };
}

const BAD: readonly Need["kind"][] = ["choked", "failed", "stuck", "quarantine", "ledger", "setup"];

/**
 * Where there is no room for all, each kind keeps its first ones, and the rest is one line. Where there is no room
 * for that either, each kind has one line, which counts the rest.
 */
function needEntries({ needs_you, run_words }: Report, most: number): Entry[] {
  const kinds = [...new Set(needs_you.map(({ kind }) => kind))];
  const withAtMost = (each: number) =>
    kinds.flatMap((kind) => {
      const all = needs_you.filter((need) => need.kind === kind);
      const shown = all.length > each ? all.slice(0, Math.max(1, each - 1)) : all;
      const left = all.slice(shown.length).reduce((sum, { count }) => sum + count, 0);
      const entries = shown.map(entryOf);
      if (left === 0) return entries;
      if (each > 1) return [...entries, moreOf(kind, left, run_words)];
      return entries.map((one) => ({ ...one, label: `${one.label} +${formatCount(left)}` }));
    });
  for (let each = most; each > 1; each--) {
    const entries = withAtMost(each);
    if (entries.length <= most) return entries;
  }
  return withAtMost(1);
}

function entryOf({ kind, subject, text, command, blocks }: Need): Entry {
  const isBad = BAD.includes(kind) || text.startsWith("not proven");
  const waits = blocks === 1 ? "waits" : "wait";
  // First, because a narrow terminal cuts the end.
  const before = blocks > 0 ? `${counted(blocks, "task", formatCount)} ${waits} for it; ` : "";
  return { label: kind, subject, text: before + text, command, tone: isBad ? "bad" : "warn" };
}

function moreOf(kind: Need["kind"], count: number, runWords: string): Entry {
  const state = kind === "review" ? "review" : "failed";
  const isOfState = ["review", "choked", "failed"].includes(kind);
  const command = isOfState ? `viv ls --state ${state}${runWords}` : `viv report --md${runWords}`;
  const text = `${formatCount(count)} more`;
  return { label: kind, subject: "", text, command, tone: "plain" };
}

function doneFacts(report: Report, room: Room): Fact[] {
  const { done, landed, outcomes } = report;
  const facts: Fact[] = [];
  const parts = [done.count === 0 ? "nothing was done" : `${formatCount(done.count)} done`];
  if (done.count > 0) parts.push(`${formatCount(done.proven)} proven`);
  if (done.by_hand > 0) parts.push(`${formatCount(done.by_hand)} by hand`);
  const isBare = done.count > 0 && done.proven < done.count;
  const names = isBare
    ? `; not proven: ${namesOf(done.unproven, done.count - done.proven, room)}`
    : "";
  const tone = done.count === 0 || isBare ? "plain" : "good";
  facts.push({ label: "Done", text: parts.join(", ") + names, tone });
  if (landed.count + landed.waiting > 0) facts.push(landedFact(report));
  for (const { command } of landed.targets) {
    if (command) facts.push({ label: "", text: `take it over with: ${command}`, tone: "plain" });
  }
  if (landed.lost.length > 0) {
    const text = `no longer in the target: ${namesOf(landed.lost, landed.lost.length, room)}`;
    facts.push({ label: "", text, tone: "bad" });
  }
  const ends = Object.entries(outcomes).sort(([, a], [, b]) => b - a);
  if (ends.length > 0) {
    const sum = ends.reduce((all, [, n]) => all + n, 0);
    const list = ends.map(([outcome, n]) => `${formatCount(n)} ${outcome.replace("_", " ")}`);
    const text = `${counted(sum, "attempt", formatCount)} ended: ${list.join(", ")}`;
    facts.push({ label: "Attempts", text, tone: "plain" });
  }
  return facts;
}

function landedFact({ landed, run_words }: Report): Fact {
  const repositories = new Set(landed.targets.map(({ repository }) => repository));
  const targets = landed.targets.map(({ target, repository, count }) => {
    const where = repositories.size > 1 && repository ? ` of ${repository}` : "";
    return `${formatCount(count)} in ${target}${where}`;
  });
  const into = targets.length > 0 ? `: ${targets.join(", ")}` : "";
  const left = counted(landed.waiting, "branch", formatCount);
  const waits = `${left} ${landed.waiting === 1 ? "has" : "have"} not: viv merge --all${run_words}`;
  const text = [
    `${landed.count === 0 ? "nothing has" : formatCount(landed.count)} landed${into}`,
    ...(landed.waiting > 0 ? [waits] : []),
  ].join("; ");
  return { label: "Landed", text, tone: landed.count > 0 ? "good" : "plain" };
}

function namesOf(names: readonly string[], count: number, room: Room): string {
  const shown = names.slice(0, room.names);
  const more = count - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${formatCount(more)} more` : ""}`;
}

const OF = { day: "today", run: "in this run" } as const;
/** From here on a budget is close to its end. */
const NEARLY = 0.8;

function costFacts({ cost }: Report): Fact[] {
  const { usd, unpriced_tokens, attempts, unreadable, budgets, usd_per_landed } = cost;
  const facts: Fact[] = [];
  const limits = budgets.map(({ of, unit, spent, limit }) => {
    const shown = unit === "usd" ? formatUsd : formatCount;
    return `${shown(spent)} of ${shown(limit)}${unit === "usd" ? "" : " tokens"} ${OF[of]}`;
  });
  const isUnknown = usd === 0 && unpriced_tokens > 0;
  const plus = unpriced_tokens > 0 ? "+" : "";
  const period = isUnknown ? "unknown in this period" : `${formatUsd(usd)}${plus} in this period`;
  const perLanded =
    usd_per_landed === null || isUnknown || attempts === 0
      ? []
      : [`${formatUsd(usd_per_landed)}${plus} per landed task`];
  const spent = attempts === 0 ? "no model has worked in this period" : period;
  const isNearly = budgets.some((one) => one.spent >= one.limit * NEARLY);
  const reserved = cost.reserved_usd > 0 ? [`${formatUsd(cost.reserved_usd)} reserved`] : [];
  const text = [...limits, ...reserved, spent, ...perLanded].join(", ");
  facts.push({ label: "Cost", text, tone: isNearly ? "warn" : "plain" });
  if (unpriced_tokens > 0) {
    const missing = `${counted(unpriced_tokens, "token", formatCount)} without a price`;
    facts.push({ label: "", text: `${missing}: their cost is not known`, tone: "warn" });
  }
  if (unreadable > 0) {
    const what = `the usage of ${counted(unreadable, "attempt", formatCount)} could not be read`;
    facts.push({ label: "", text: `${what}: the sums lack it`, tone: "warn" });
  }
  if (cost.crew_today_usd) {
    const crew = `the crew: ${formatUsd(cost.crew_today_usd)} today`;
    facts.push({ label: "", text: crew, tone: "plain" });
  }
  return facts;
}

function topFacts({ slowest, dearest, retried }: Report, { top }: Room): Fact[] {
  const dollars = ({ usd, unpriced_tokens }: Report["dearest"][number]) =>
    `${formatUsd(usd)}${unpriced_tokens > 0 ? "+" : ""}`;
  const rows = [
    { label: "Slowest", all: slowest.map((one) => `${one.id} ${formatTook(one.ms)}`) },
    { label: "Dearest", all: dearest.map((one) => `${one.id} ${dollars(one)}`) },
    {
      label: "Retried",
      all: retried.map((one) => `${one.id} ${counted(one.attempts, "attempt")}`),
    },
  ];
  return rows
    .filter(({ all }) => all.length > 0)
    .map(({ label, all }) => ({ label, text: all.slice(0, top).join(", "), tone: "plain" }));
}

const BARS = "▁▂▃▄▅▆▇█";
const DAY_MS = 86_400_000;

function workedPart({ worked, since, until }: Report, most: number): ReportDocument["worked"] {
  const span = Date.parse(until) - Date.parse(since);
  const rows = worked.slice(0, most).map(({ name, kind, from, to, tasks, busy_ms, slots }) => ({
    name: kind === "crew" ? `${name} (crew)` : name,
    when: `${momentOf(from, span)}–${momentOf(to, span)}`,
    tasks: counted(tasks, kind === "crew" ? "run" : "task", formatCount),
    busy: formatTook(busy_ms),
    bar: slots.map(barOf).join(""),
  }));
  const part = formatTook(span / (worked[0]?.slots.length ?? 1));
  const more = worked.length - rows.length;
  return {
    title: `Who worked when (UTC; a mark for each ${part})`,
    rows,
    more: more > 0 ? `${formatCount(more)} more: viv report --md` : "",
  };
}

function barOf(share: number): string {
  if (share <= 0) return "·";
  return BARS[Math.min(BARS.length - 1, Math.floor(share * BARS.length))] ?? "█";
}

/** In a period of days, with the day. */
function momentOf(iso: string, span: number): string {
  return span > DAY_MS ? iso.slice(5, 16).replace("T", " ") : iso.slice(11, 16);
}

function killedEntries({ killed, since, until }: Report, { killed: most, names }: Room): Entry[] {
  const span = Date.parse(until) - Date.parse(since);
  const entries = killed.slice(0, most).map(({ target, at, why, tasks, command }): Entry => {
    const cut = tasks.length > names ? ` and ${tasks.length - names} more` : "";
    const of = tasks.length > 0 ? `; had ${tasks.slice(0, names).join(", ")}${cut}` : "";
    const label = momentOf(at, span);
    return { label, subject: target, text: `${why}${of}`, command, tone: "warn" };
  });
  const more = killed.length - entries.length;
  if (more > 0) {
    const text = `${formatCount(more)} more`;
    entries.push({ label: "", subject: "", text, command: "viv warden status", tone: "plain" });
  }
  return entries;
}
