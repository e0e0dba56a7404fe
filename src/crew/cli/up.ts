import { formatUsd } from "../../base/amount.ts";
import { formatDuration } from "../../base/duration.ts";
import type { Command } from "../../operation/command.ts";
import type { Stamped } from "../../operation/operation.ts";
import { plain, type Term } from "../../operation/term.ts";
import type { CrewEvent } from "../operations/start.ts";
import { crewUp, keeperUp } from "../operations/up.ts";

export const command: Command = {
  op: crewUp,
  placeholders: { state: "DIR" },
  positionals: [{ key: "manifest" }],
  examples: [
    ["viv crew up crew.org", "until Ctrl-C: runs may finish; twice: at once"],
    [
      "viv crew up crew.org --grace 0s --stagger 100ms --max-concurrent 2 --port 0",
      "a try-out: at once, and with /_activity",
    ],
    ["WB_CREW_DEF=crew.org viv up", "the same, from the environment"],
  ],
  view: crewView,
};

export const keeperCommand: Command = {
  op: keeperUp,
  placeholders: { state: "DIR", workdir: "DIR", lifecycle: "FILE", budget_usd_day: "USD" },
  positionals: [{ key: "def" }],
  examples: [
    ["viv keeper up desk.org", "one standing agent, once an hour, in plan mode"],
    ["viv keeper up desk.org --interval 15m --mode edit", "more often, and it may write"],
    [
      'viv keeper up desk.org --run-if "test -s inbox" --budget-usd-day 2',
      "only when there is work",
    ],
    ['viv keeper up desk.org --command "./desk.sh" --grace 0s', "any command instead of a model"],
  ],
  view: crewView,
};

export function crewView(term: Term) {
  return { event: (event: Stamped<CrewEvent>) => describeEvent(event, term) };
}

function describeEvent(event: Stamped<CrewEvent>, { color }: Term): string | null {
  const time = color.dim(event.at.slice(11, 19));
  const note = "note" in event && event.note ? `: ${plain(event.note)}` : "";
  switch (event.kind) {
    case "up": {
      const page = event.port === undefined ? "" : `, http://127.0.0.1:${event.port}/_activity`;
      return `${time} ${event.members.join(", ")} (pid ${event.pid}${page})`;
    }
    case "log":
      return `${time} ${color.yellow(plain(event.text))}`;
    case "leftover": {
      const left = event.survivors.length > 0 ? `; still there: ${event.survivors.join(", ")}` : "";
      return `${time} ${event.name} ${color.yellow(`a run from before was ended, pid ${event.pid}${left}`)}`;
    }
    case "next":
      if (event.why !== "first") return null;
      return `${time} ${event.name} ticks in ${formatDuration(event.after_ms)}`;
    case "runs":
      return `${time} ${event.name} runs${event.lifecycle ? color.dim(` (${plain(event.lifecycle)})`) : ""}`;
    case "ran": {
      const paint =
        event.outcome === "done"
          ? color.green
          : event.outcome === "no_work"
            ? color.dim
            : color.red;
      const cost = event.usd === null ? "" : `, ${formatUsd(event.usd)}`;
      return `${time} ${event.name} ${paint(event.outcome.replace("_", " "))} ${color.dim(`after ${event.seconds} s${cost}`)}${note}`;
    }
    case "saved":
      return `${time} ${event.name} ${color.dim(`has no ticks while its RUN-IF says no${note}`)}`;
    case "due": {
      const count = event.meanwhile === 1 ? "1 tick" : `${event.meanwhile} ticks`;
      return `${time} ${event.name} ${color.dim(`is due again, after ${count} saved (${event.saved} in all)`)}`;
    }
    case "held":
      return `${time} ${event.name} ${color.yellow(`is held${note}`)}`;
    case "trouble":
      return `${time} ${event.name} ${color.red(plain(event.message))}`;
    case "stopping":
      return event.running.length === 0
        ? `${time} stopping`
        : `${time} stopping when ${event.running.join(", ")} ${event.running.length === 1 ? "is" : "are"} through; once more to end now`;
    case "finished":
      return `${time} all have ended`;
    case "parked":
      return `${time} ${event.name} ${color.red(`is parked${note}`)}`;
    default:
      return `${time} ${event.name} ${event.kind}${note}`;
  }
}
