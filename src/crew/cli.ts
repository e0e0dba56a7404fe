import type * as z from "zod/mini";
import { formatUsd } from "../base/amount.ts";
import { formatDuration } from "../base/duration.ts";
import { counted } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import type { Stamped } from "../operation/operation.ts";
import { plain, type Term, table } from "../operation/term.ts";
import type { CrewEvent } from "./crew-ports.ts";
import type { CrewLine } from "./member-status.ts";
import {
  crewPause,
  crewPs,
  crewResume,
  crewStop,
  crewTick,
  crewUp,
  keeperUp,
  type Ticked,
} from "./operations.ts";

const crewUpCommand: Command = {
  op: crewUp,
  placeholders: { state: "DIR" },
  positionals: [{ key: "manifest" }],
  examples: [
    ["viv crew up crew.org", "Ctrl-C lets runs finish; a second one ends them"],
    [
      "viv crew up crew.org --grace 0s --stagger 100ms --max-concurrent 2 --port 0",
      "for testing: start at once, serve /_activity",
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
    ["viv keeper up desk.org --interval 15m --mode edit", "more often, with write access"],
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
      return `${time} ${event.name} ${color.yellow(`ended a leftover run, pid ${event.pid}${left}`)}`;
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
      return `${time} ${event.name} ${color.dim(`skips its ticks while RUN-IF fails${note}`)}`;
    case "due": {
      const skipped = counted(event.meanwhile, "skipped tick");
      return `${time} ${event.name} ${color.dim(`is due again after ${skipped} (${event.saved} in all)`)}`;
    }
    case "held":
      return `${time} ${event.name} ${color.yellow(`is held${note}`)}`;
    case "trouble":
      return `${time} ${event.name} ${color.red(plain(event.message))}`;
    case "stopping":
      return event.running.length === 0
        ? `${time} stopping`
        : `${time} stopping after the current runs of ${event.running.join(", ")}; interrupt again to end them now`;
    case "finished":
      return `${time} all have ended`;
    case "parked":
      return `${time} ${event.name} ${color.red(`is parked${note}`)}`;
    default:
      return `${time} ${event.name} ${event.kind}${note}`;
  }
}

type Output = z.output<typeof crewPs.output>;

const crewPsCommand: Command = {
  op: crewPs,
  placeholders: { state: "DIR" },
  examples: [["viv crew ps", "name, state, last run, next tick, streak, lifecycle, cost today"]],
  human: (output: Output, term, io) => {
    const { color } = term;
    const { running, pid, manifest } = output.supervisor;
    const head = running
      ? `${color.green("up")} (pid ${pid}) ${plain(manifest ?? "")}`
      : output.tick
        ? color.yellow(
            `no crew runs, but viv crew tick ${output.tick.name} (pid ${output.tick.pid})`,
          )
        : color.yellow(`no crew runs; start it with: viv crew up ${plain(manifest ?? "")}`);
    if (output.members.length === 0) return head;
    const rows = output.members.map((one) => row(one, io.now(), term));
    const titles = [
      "name",
      "state",
      "last run",
      "next tick",
      "streak",
      "lifecycle",
      "saved",
      "today",
      "",
    ];
    return `${head}\n${table([titles.map((title) => color.dim(title)), ...rows], term)}`;
  },
};

const ASKED = "the warden asks whether it is alive;";

function row(one: Output["members"][number], now: number, { color }: Term): string[] {
  const paint =
    one.state === "running"
      ? color.green
      : one.state === "parked"
        ? color.red
        : (text: string) => text;
  const ago =
    one.last_run === null
      ? "-"
      : `${formatDuration(Math.max(0, now - Date.parse(one.last_run)))} ago`;
  const next =
    one.next_tick === null
      ? "-"
      : `in ${formatDuration(Math.max(0, Date.parse(one.next_tick) - now))}`;
  const said =
    one.state === "running"
      ? (one.thought ?? "")
      : one.state === "parked"
        ? one.note // why, and not how some earlier run ended
        : [one.outcome ?? "", one.note].filter(Boolean).join(": ");
  return [
    one.name,
    paint(one.state.replace("_", " ")),
    ago,
    next,
    String(one.streak),
    plain(one.lifecycle ?? "-"),
    String(one.saved),
    formatUsd(one.cost_today),
    one.asked === null ? plain(said) : `${color.yellow(ASKED)} ${plain(said)}`.trimEnd(),
  ];
}

const crewTickCommand: Command = {
  op: crewTick,
  placeholders: { state: "DIR" },
  positionals: [{ key: "name" }],
  examples: [["viv crew tick moss", "run one tick now and follow it; skips RUN-IF"]],
  view: ({ color }) => ({
    event: (line: CrewLine | Ticked) => {
      if ("tool" in line) return `${color.cyan(plain(line.tool))} ${plain(line.target)}`;
      if ("thought" in line) return plain(line.thought);
      if (!("name" in line)) return null;
      const note = line.note ? `: ${plain(line.note)}` : "";
      const did = line.outcome ?? (line.state === "parked" ? "is parked" : "did not run");
      return `${line.name} ${did}${note}`;
    },
  }),
  exit: ({ outcome }: Ticked) => (outcome === "done" || outcome === "no_work" ? 0 : 1),
};

const crewPauseCommand: Command = {
  op: crewPause,
  placeholders: { state: "DIR" },
  positionals: [{ key: "name" }],
  examples: [["viv crew pause moss", "no ticks until resumed"]],
  human: ({ name, state }: { name: string; state: string }) =>
    state === "running"
      ? `${name} is paused when its run has ended`
      : `${name} ${state.replace("_", " ")}`,
};

const crewResumeCommand: Command = {
  op: crewResume,
  placeholders: { state: "DIR" },
  positionals: [{ key: "name" }],
  examples: [["viv crew resume moss", "also a parked member"]],
  human: ({ name, state }: { name: string; state: string }) => `${name} ${state.replace("_", " ")}`,
};

const crewStopCommand: Command = {
  op: crewStop,
  placeholders: { state: "DIR" },
  examples: [["viv crew stop", "current runs may finish"]],
  human: ({ stopped }: { stopped: boolean }) =>
    stopped ? "stopping; runs that are under way may finish" : "no crew runs here",
};

export const commands = {
  "crew up": crewUpCommand,
  "keeper up": keeperCommand,
  "crew ps": crewPsCommand,
  "crew tick": crewTickCommand,
  "crew pause": crewPauseCommand,
  "crew resume": crewResumeCommand,
  "crew stop": crewStopCommand,
} satisfies Record<string, Command>;
