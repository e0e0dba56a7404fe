import { formatCount, formatUsd } from "../../base/amount.ts";
import { formatDuration } from "../../base/duration.ts";
import { counted } from "../../base/text.ts";
import { documentOf, type Entry, PAGE } from "../report/report-document.ts";
import type { Report } from "../report/report-shape.ts";
import { COLUMNS } from "./columns.ts";
import { Html, linkTo, type Tag } from "./html.ts";

/** The page of a task, seen from the export's folder; undefined: it has none. */
export type PageOf = (id: string) => string | undefined;

/** `index.html`: what needs a person first, then the facts of the period. */
export function reportPage(h: Tag, report: Report, pageOf: PageOf): Html {
  const document = documentOf(report, PAGE);
  const { done, landed, cost, counts } = report;
  const plus = cost.unpriced_tokens > 0 ? "+" : "";
  const figures: [string, string][] = [
    ["Done", formatCount(done.count)],
    ["Proven", formatCount(done.proven)],
    ["Landed", formatCount(landed.count)],
    ["Cost", `${formatUsd(cost.usd)}${plus}`],
    ["Needs you", formatCount(report.needs_you.length)],
  ];
  const states = COLUMNS.map(
    ({ name, state, label }) =>
      h`<a class="chip ${new Html(`s-${name}`)}" href="${linkTo(`board.html#${name}`)}">${label} ${formatCount(counts[state])}</a> `,
  );
  const entries = (all: readonly Entry[]) => all.map((one) => entryRow(h, one, pageOf));
  const isFine = document.needs.length === 0;
  const killed = document.killed.length > 0;
  return h`<div><h1>${document.title}</h1><p class="dim">${document.period}</p></div>
<dl class="figures">${figures.map(([label, value]) => h`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>
<p>${states}</p>
<section class="panel"><h2>${document.needsTitle}</h2><div class="pad scroll">${
    isFine
      ? h`<p class="dim">No task waits for a person, and nothing is broken.</p>`
      : h`<table>${entries(document.needs)}</table>`
  }</div></section>
<section class="panel"><h2>What happened</h2><div class="pad scroll"><table>${document.facts.map(
    (fact) =>
      h`<tr><th scope="row">${fact.label}</th><td class="${new Html(fact.tone)}">${fact.text}</td></tr>`,
  )}</table></div></section>
${nightStrip(h, report)}
${killed && h`<section class="panel"><h2>Killed</h2><div class="pad scroll"><table>${entries(document.killed)}</table></div></section>`}
${document.notes.map((note) => h`<p class="dim">${note}</p>`)}`;
}

function entryRow(h: Tag, { label, subject, text, command, tone }: Entry, pageOf: PageOf): Html {
  const page = pageOf(subject);
  const name = page
    ? h`<a class="id" href="${linkTo(page)}">${subject}</a>`
    : h`<span class="id">${subject}</span>`;
  return h`<tr><td class="no ${new Html(tone)}">${label}</td><td>${subject !== "" && name}</td><td>${text}</td><td>${command !== null && h`<code class="cmd">${command}</code>`}</td></tr>`;
}

const LANES = 30;
const WIDTH = 10;
const HEIGHT = 20;

/** Lanes of work by worker, over the period of the report. Attributes only: a policy forbids styles. */
function nightStrip(h: Tag, { worked, since, until }: Report): Html | null {
  if (worked.length === 0) return null;
  const lanes = worked.slice(0, LANES).map(({ name, kind, slots, tasks, busy_ms }) => {
    const bars = slots.map((share, i) => {
      const height = Math.round(Math.min(1, Math.max(0, share)) * HEIGHT * 10) / 10;
      if (height === 0) return "";
      return `<rect class="busy" x="${i * WIDTH + 0.5}" y="${HEIGHT - height}" width="${WIDTH - 1}" height="${height}"/>`;
    });
    const width = slots.length * WIDTH;
    const busy = formatDuration(busy_ms);
    const svg = h`<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${name}: at work for ${busy}"><rect class="ground" width="${width}" height="${HEIGHT}"/>${new Html(bars.join(""))}</svg>`;
    const thing = kind === "crew" ? "run" : "task";
    return h`<span>${name}${kind === "crew" && " (crew)"}</span>${svg}<span class="dim">${counted(tasks, thing, formatCount)}, ${busy}</span>`;
  });
  const more = worked.length - lanes.length;
  const span = `${since.slice(11, 16)} to ${until.slice(11, 16)} UTC`;
  return h`<section class="panel"><h2>Who worked when <span class="n">${span}</span></h2><div class="pad"><div class="strip">${lanes}</div>${more > 0 && h`<p class="dim">and ${counted(more, "more worker")}</p>`}</div></section>`;
}
