import { codeSpan } from "../../base/text.ts";
import { plain } from "../../operation/term.ts";
import { TASK_STATES } from "../../queue/states.ts";
import { documentOf, type Entry, PAGE } from "./report-document.ts";
import type { Report } from "./report-shape.ts";

export function markdownReport(report: Report): string {
  const { title, place, period, needsTitle, needs, facts, worked, killed, notes } = documentOf(
    report,
    PAGE,
  );
  const counts = TASK_STATES.map((state) => `${report.counts[state]} ${state}`).join(", ");
  const lines = [
    `# Report: ${text(title)}`,
    "",
    `${code(place)}, ${text(period)}. Now: ${counts}.`,
    "",
    `## ${text(needsTitle)}`,
    "",
    ...needs.map(item),
    ...(needs.length > 0 ? [""] : []),
    "## What happened",
    "",
    ...facts.map(
      ({ label, text: said }) => `- ${label === "" ? "" : `**${label}**: `}${text(said)}`,
    ),
  ];
  if (worked.rows.length > 0) {
    lines.push("", `## ${text(worked.title)}`, "");
    lines.push("| name | when | tasks | busy | |", "| --- | --- | --- | --- | --- |");
    for (const { name, when, tasks, busy, bar } of worked.rows) {
      lines.push(`| ${[text(name), when, tasks, busy, code(bar)].join(" | ")} |`);
    }
    if (worked.more !== "") lines.push("", text(worked.more));
  }
  if (killed.length > 0) lines.push("", "## Killed", "", ...killed.map(item));
  if (notes.length > 0) lines.push("", ...notes.map((note) => `> ${text(note)}`));
  return lines.join("\n");
}

function item({ label, subject, text: said, command }: Entry): string {
  const name = [label, subject]
    .filter((one) => one !== "")
    .map(text)
    .join(" ");
  const todo = command === null ? "" : `: ${code(command)}`;
  return `- ${name === "" ? "" : `**${name}** `}${text(said)}${todo}`;
}

/** Words of others, on one line: nothing in them is Markdown or HTML. */
function text(said: string): string {
  const line = plain(said).replace(/\s+/g, " ");
  return line
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/([\\`*_[\]|~#>])/g, "\\$1");
}

function code(said: string): string {
  return codeSpan(plain(said).replace(/\s+/g, " "));
}
