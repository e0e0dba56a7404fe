import { formatUsd } from "../../base/amount.ts";
import { formatTook } from "../../base/duration.ts";
import { formatSize } from "../../base/size.ts";
import { isAttempt } from "../../queue/attempt.ts";
import type { TaskSummary } from "../../queue/store.ts";
import { columnOf } from "./columns.ts";
import type { Excerpt } from "./excerpt.ts";
import { Html, linkTo, minute, type Tag } from "./html.ts";
import type { PageOf } from "./report-page.ts";
import type { TaskDetail } from "./task-facts.ts";

/** `tasks/….html`: why, attempts, proof, artifact. */
export function taskPage(
  h: Tag,
  task: TaskSummary,
  detail: TaskDetail,
  { usd, pageOf }: { usd: number; pageOf: PageOf },
): Html {
  const { id, type, state, since, worker, cancelled } = task;
  const { title, reasons, dependencies, artifact, log, payload } = detail;
  const { name, label } = columnOf(state);
  const facts: [string, string | undefined][] = [
    ["Type", type ?? "unknown"],
    ["Worker", worker],
    ["Priority", task.priority],
    ["Since", `${minute(since)} UTC`],
    ["Cost", usd > 0 ? formatUsd(usd) : undefined],
    ["Done when", detail.doneWhen ?? undefined],
  ];
  const why = reasons.map(
    ({ text, command }) =>
      h`<li><p>${text}</p>${command !== undefined && h`<code class="cmd">${command}</code>`}</li>`,
  );
  const needs = dependencies.map(({ id: on, state: lies }) => {
    const page = pageOf(on);
    const name = page
      ? h`<a class="id" href="${linkTo(`../${page}`)}">${on}</a>`
      : h`<span class="id">${on}</span>`;
    return h`<li>${name} <span class="dim">${lies}</span></li>`;
  });
  return h`<div><h1>${title === "" ? id : title}</h1><p><span class="chip ${new Html(`s-${name}`)}">${cancelled ? "Cancelled" : label}</span> <span class="id">${id}</span></p></div>
${panel(h, "Why", why.length > 0 ? h`<ol>${why}</ol>` : h`<p>Nothing holds it back.</p>`)}
${panel(
  h,
  "Facts",
  h`<dl class="facts">${facts.map(([key, value]) => (value === undefined ? h`` : h`<dt>${key}</dt><dd>${value}</dd>`))}</dl>`,
)}
${needs.length > 0 && panel(h, "Needs", h`<ul>${needs}</ul>`)}
${attempts(h, detail)}
${proofPanel(h, detail)}
${excerpt(h, "Artifact", artifact, "first")}
${excerpt(h, "Log", log, "last")}
${payload !== null && panel(h, "Payload", h`<pre tabindex="0">${payload}</pre>`)}`;
}

/** Other pages link to it already. */
export function gonePage(h: Tag, id: string): Html {
  return h`<h1>${id}</h1><p>It was moved out of the run while this copy was made.</p>`;
}

function panel(h: Tag, title: string, body: Html): Html {
  return h`<section class="panel"><h2>${title}</h2><div class="pad scroll">${body}</div></section>`;
}

function attempts(h: Tag, { history }: TaskDetail): Html | null {
  if (history.length === 0) return null;
  const rows = history.map((one) => {
    if (!isAttempt(one)) {
      return h`<tr><td class="no">${minute(one.at)}</td><td></td><td>${one.by}</td><td></td><td>${one.note ?? ""}</td></tr>`;
    }
    const tone = one.outcome === "done" ? "good" : "warn";
    return h`<tr><td class="no">${minute(one.at)}</td><td>${one.attempt}</td><td class="${new Html(tone)}">${one.outcome.replace("_", " ")}</td><td>${one.worker}</td><td>${one.note ?? ""}</td></tr>`;
  });
  const head = h`<tr><th scope="col">Ended (UTC)</th><th scope="col">Attempt</th><th scope="col">Outcome</th><th scope="col">Worker</th><th scope="col">Note</th></tr>`;
  return panel(h, "Attempts", h`<table>${head}${rows}</table>`);
}

function proofPanel(h: Tag, { proof }: TaskDetail): Html | null {
  // A handler may write there too: only what has the shape of a proof is shown.
  if (proof === null || typeof proof.command !== "string") return null;
  const { command, exit, signal, timed_out, duration_ms, attempt, output } = proof;
  const how = timed_out ? "its time was up" : signal ? `ended by ${signal}` : `exit ${exit}`;
  const tone = new Html(exit === 0 ? "good" : "bad");
  const took = Number.isFinite(duration_ms) ? `, after ${formatTook(duration_ms)}` : "";
  const said = typeof output === "string" ? output : "";
  return panel(
    h,
    "Proof",
    h`<p><code class="cmd">${command}</code></p><p class="${tone}">${how}${took}, attempt ${String(attempt)}</p>${said !== "" && h`<pre tabindex="0">${said}</pre>`}`,
  );
}

function excerpt(h: Tag, title: string, part: Excerpt | null, which: string): Html | null {
  if (part === null || part.bytes === 0) return null;
  const cut = `the ${which} part of ${formatSize(part.bytes)}`;
  return panel(
    h,
    title,
    h`${part.isCut && h`<p class="dim">${cut}</p>`}<pre tabindex="0">${part.text}</pre>`,
  );
}
