import type * as z from "zod/mini";
import { formatUsd } from "../base/amount.ts";
import { formatDuration } from "../base/duration.ts";
import { counted } from "../base/text.ts";
import { type Command, UNTIL_STDIN_CLOSES } from "../operation/command.ts";
import type { Stamped } from "../operation/operation.ts";
import { type Cell, plain, prose, type Term, table } from "../operation/term.ts";
import type { CrewEvent } from "./crew-ports.ts";
import {
  crewPause,
  crewPs,
  crewResume,
  crewStop,
  crewTick,
  crewUp,
  keeperUp,
  type Ticked,
  type TickLine,
} from "./operations.ts";

export function crewView(term: Term) {
  return { event: (event: Stamped<CrewEvent>) => describeEvent(event, term) };
}

function describeEvent(event: Stamped<CrewEvent>, { color }: Term): string | null {
  const line = (text: string) => `${color.dim(event.at.slice(11, 19))} ${text}`;
  const about = (text: string) => line(`${"name" in event ? event.name : ""} ${text}`);
  const note = "note" in event && event.note ? `: ${plain(event.note)}` : "";
  switch (event.kind) {
    case "up": {
      const page = event.port === undefined ? "" : `, http://127.0.0.1:${event.port}/_activity`;
      return line(`${event.members.join(", ")} (pid ${event.pid}${page})`);
    }
    case "log":
      return line(color.yellow(plain(event.text)));
    case "leftover": {
      const left = event.survivors.length > 0 ? `; still there: ${event.survivors.join(", ")}` : "";
      return about(color.yellow(`ended a leftover run, pid ${event.pid}${left}`));
    }
    case "next":
      return event.why === "first" ? about(`ticks in ${formatDuration(event.after_ms)}`) : null;
    case "runs":
      return about(`runs${event.lifecycle ? color.dim(` (${plain(event.lifecycle)})`) : ""}`);
    case "ran": {
      const { outcome, seconds, usd } = event;
      const colors = { done: color.green, no_work: color.dim } as Record<string, typeof color.red>;
      const paint = colors[outcome] ?? color.red;
      const cost = usd === null ? "" : `, ${formatUsd(usd)}`;
      return about(
        `${paint(outcome.replace("_", " "))} ${color.dim(`after ${seconds} s${cost}`)}${note}`,
      );
    }
    case "saved":
      return about(color.dim(`skips its ticks while RUN-IF fails${note}`));
    case "due": {
      const skipped = counted(event.meanwhile, "skipped tick");
      return about(color.dim(`is due again after ${skipped} (${event.saved} in all)`));
    }
    case "held":
      return about(color.yellow(`is held${note}`));
    case "trouble":
      return about(color.red(plain(event.message)));
    case "stopping":
      return line(
        event.running.length === 0
          ? "stopping"
          : `stopping after the current runs of ${event.running.join(", ")}; interrupt again to end them now`,
      );
    case "finished":
      return line("all have ended");
    case "parked":
      return about(color.red(`is parked${note}`));
    default:
      return about(`${event.kind}${note}`);
  }
}

type Ps = z.output<typeof crewPs.output>;

const TITLES = [
  ...["name", "state", "last run", "next tick", "streak", "lifecycle", "saved", "today", ""],
];
const ASKED = "the warden asks whether it is alive;";

function psHead({ supervisor, tick }: Ps, { color }: Term): string {
  const { running, pid, manifest } = supervisor;
  const file = plain(manifest ?? "");
  if (running) return `${color.green("up")} (pid ${pid}) ${file}`;
  if (tick) return color.yellow(`no crew runs, but viv crew tick ${tick.name} (pid ${tick.pid})`);
  return color.yellow(`no crew runs; start it with: viv crew up ${file}`);
}

function psRow(one: Ps["members"][number], now: number, { color }: Term): Cell[] {
  const { state, last_run, next_tick } = one;
  let label = state.replace("_", " ");
  let text = [one.outcome ?? "", one.note].filter(Boolean).join(": ");
  if (state === "running") {
    label = color.green(label);
    text = one.thought ?? "";
  } else if (state === "parked") {
    label = color.red(label);
    text = one.note; // the reason, not the end of an earlier run
  }
  const since = (from: number, to: number) => formatDuration(Math.max(0, to - from));
  return [
    one.name,
    label,
    last_run === null ? "-" : `${since(Date.parse(last_run), now)} ago`,
    next_tick === null ? "-" : `in ${since(now, Date.parse(next_tick))}`,
    String(one.streak),
    plain(one.lifecycle ?? "-"),
    String(one.saved),
    formatUsd(one.cost_today),
    prose(one.asked === null ? plain(text) : `${color.yellow(ASKED)} ${plain(text)}`.trimEnd()),
  ];
}

const names = { state: "state-dir" };
const namesUp = { ...names, grace: "boot-grace" };
const forMember = { names, positionals: [{ key: "name" }] };

export const commands = {
  "crew up": {
    op: crewUp,
    names: namesUp,
    flags: UNTIL_STDIN_CLOSES,
    positionals: [{ key: "manifest" }],
    examples: [
      ["viv crew up crew.org", "Ctrl-C lets runs finish; a second one ends them"],
      [
        "viv crew up crew.org --boot-grace 0s --stagger 100ms --max-concurrent 2 --port 0",
        "for testing: start at once, serve /_activity",
      ],
      ["WB_CREW_DEF=crew.org viv up", "the same, from the environment"],
    ],
    view: crewView,
  },
  "keeper up": {
    op: keeperUp,
    names: namesUp,
    positionals: [{ key: "def" }],
    examples: [
      ["viv keeper up desk.org", "one standing agent, once an hour, in plan mode"],
      ["viv keeper up desk.org --interval 15m --mode edit", "more often, with write access"],
      [
        'viv keeper up desk.org --run-if "test -s inbox" --budget-usd-day 2',
        "only when there is work",
      ],
      [
        'viv keeper up desk.org --command "./desk.sh" --boot-grace 0s',
        "any command instead of a model",
      ],
    ],
    view: crewView,
  },
  "crew ps": {
    op: crewPs,
    names,
    examples: [["viv crew ps", "name, state, last run, next tick, streak, lifecycle, cost today"]],
    human: (output: Ps, term, io) => {
      const head = psHead(output, term);
      if (output.members.length === 0) return head;
      const rows = output.members.map((one) => psRow(one, io.now(), term));
      return `${head}\n${table([TITLES.map((title) => term.color.dim(title)), ...rows], term)}`;
    },
  },
  "crew tick": {
    op: crewTick,
    ...forMember,
    examples: [["viv crew tick moss", "run one tick now and follow it; skips RUN-IF"]],
    view: ({ color }) => ({
      event: (line: TickLine) => {
        if ("notice" in line) return color.yellow(plain(line.notice));
        if ("tool" in line) return `${color.cyan(plain(line.tool))} ${plain(line.target)}`;
        if ("thought" in line) return plain(line.thought);
        if (!("name" in line)) return null;
        const note = line.note ? `: ${plain(line.note)}` : "";
        const did = line.outcome ?? (line.state === "parked" ? "is parked" : "did not run");
        return `${line.name} ${did}${note}`;
      },
    }),
    exit: ({ outcome }: Ticked) => (outcome === "done" || outcome === "no_work" ? 0 : 1),
  },
  "crew pause": {
    op: crewPause,
    ...forMember,
    examples: [["viv crew pause moss", "no ticks until resumed"]],
    human: ({ name, state }: { name: string; state: string }) =>
      state === "running"
        ? `${name} is paused when its run has ended`
        : `${name} ${state.replace("_", " ")}`,
  },
  "crew resume": {
    op: crewResume,
    ...forMember,
    examples: [["viv crew resume moss", "also a parked member"]],
    human: ({ name, state }: { name: string; state: string }) =>
      `${name} ${state.replace("_", " ")}`,
  },
  "crew stop": {
    op: crewStop,
    names,
    examples: [["viv crew stop", "current runs may finish"]],
    human: ({ stopped }: { stopped: boolean }) =>
      stopped ? "stopping; current runs may finish" : "no crew runs here",
  },
} satisfies Record<string, Command>;
