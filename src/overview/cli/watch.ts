import { formatCount, formatUsd } from "../../base/amount.ts";
import type { Command } from "../../operation/command.ts";
import { clip, type Term } from "../../operation/term.ts";
import { countLine, paintState } from "../../queue/cli/paint.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import { type WatchEvent, watch } from "../operations/watch.ts";

export const command: Command = {
  op: watch,
  examples: [
    ["viv watch", ""],
    ["viv watch --until-idle && viv ls --state failed", "wait for a run to finish"],
    ["viv watch --json | jq -r 'select(.to==\"failed\").id'", "one line of JSON per change"],
  ],
  view: (term) => ({ event: (event: WatchEvent) => describe(event, term) }),
  jsonView: () => ({
    event: (event: WatchEvent) => (event.kind === "counts" ? null : JSON.stringify(event)),
  }),
};

function describe(event: WatchEvent, term: Term): string | null {
  if (event.kind === "counts") return countLine(event.counts, term);
  if (event.kind === "ledger") return stepLine(event.line, term);
  if (event.kind === "missed") {
    return `${event.count} changes since ${event.since} are not shown; see: viv ls`;
  }
  const { color } = term;
  const from = event.from ? `${paintState(event.from, term)} → ` : "";
  const to = event.to ? paintState(event.to, term) : color.dim("gone");
  const by = event.worker ? color.dim(` by ${event.worker}`) : "";
  return `${color.dim(event.at.slice(11, 23))}  ${event.id}  ${from}${to}${by}`;
}

/** What a model run does, a line for each step; null for one that only says what was used. */
function stepLine(line: LedgerLine, { color, width }: Term): string | null {
  const { at, task = "", event } = line;
  const time = color.dim(at.slice(11, 23));
  if (event === "usage") {
    const { usd, tokens } = line as { usd?: number; tokens?: number };
    return `${time}  ${task}  ${color.dim(`used ${formatUsd(usd ?? 0)}, ${formatCount(tokens ?? 0)} tokens`)}`;
  }
  const { kind, tool, target, text } = line as Partial<Record<string, string>>;
  const what = kind === "tool" ? `▸ ${[tool, target ?? text].filter(Boolean).join(" ")}` : text;
  if (!what) return null;
  return `${time}  ${task}  ${clip(what, Math.max(20, width - task.length - 16))}`;
}
