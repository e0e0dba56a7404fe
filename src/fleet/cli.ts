import type * as z from "zod/mini";
import { formatDuration, formatTook } from "../base/duration.ts";
import { counted } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import type { Stamped } from "../operation/operation.ts";
import { plain, type Term, table } from "../operation/term.ts";
import { type SpeciesOutput, species, type UpEvent } from "./operations.ts";
import { service } from "./service.ts";

type Output = z.output<typeof service.output>;

/** Why, for commands that do not say it themselves. */
const WHY: Record<string, string> = {
  link: "this folder is not one that systemd looks into",
  restart: "with its new settings",
  "enable-linger": "go on after you log out, and start with the machine",
  "-u": "what it says",
};

const serviceCommand: Command = {
  op: service,
  positionals: [{ key: "action" }],
  examples: [
    ["viv service install", "routes from viv.toml; prints the next commands"],
    ["viv service install --handler ./handle.sh --concurrency 4", "one executable for every task"],
    ["viv service install --force --types audit,fix", "change the settings"],
    ["viv service uninstall", "after systemctl --user disable --now …"],
  ],
  human: ({ files, next }: Output, { color }) => {
    const done = files.map(({ path, status }) => {
      const paint = status === "written" || status === "removed" ? color.green : color.dim;
      return `${paint(status)} ${plain(path)}`;
    });
    const commands = next.map((line) => {
      const why = line.split(" ").flatMap((word) => WHY[word] ?? [])[0];
      return `  ${color.cyan(plain(line))}${why ? color.dim(`  # ${why}`) : ""}`;
    });
    return [...done, "", color.bold("Now run"), ...commands].join("\n");
  },
};

/** What `viv status` is when it is given `--config`. */
const fleetStatusCommand: Command = {
  op: species,
  examples: [["viv status --config agents.toml", ""]],
  human: (output: SpeciesOutput, term, io) => {
    const { color } = term;
    const now = io.now();
    const rows = output.agents.map((agent) => [
      agent.name,
      painted(agent.state, term),
      agent.pid === null ? "" : `pid ${agent.pid}`,
      agent.since === null ? "" : ago(agent.since, now),
      agent.restarts === 0 ? "" : counted(agent.restarts, "restart"),
      plain(facts(agent, now)),
    ]);
    const { service } = output;
    const pid = service.pid === null ? "" : `, pid ${service.pid} on ${service.host}`;
    const since = service.since === null ? "" : `, for ${ago(service.since, now)}`;
    const note = service.note ? ` (${plain(service.note)})` : "";
    return [
      table([["service", painted(service.state, term)]], term) + pid + since + note,
      `${color.dim(plain(output.pit))}`,
      "",
      table(rows, term),
    ].join("\n");
  },
};

function facts(agent: SpeciesOutput["agents"][number], now: number): string {
  const next = agent.next_run === null ? Number.NaN : Date.parse(agent.next_run) - now;
  return [
    agent.digesting.length > 0 ? `digesting ${agent.digesting.join(", ")}` : "",
    agent.last_run === null ? "" : `ran ${ago(agent.last_run, now)} ago`,
    Number.isNaN(next) ? "" : `again in ${formatDuration(next)}`,
    agent.note,
  ]
    .filter(Boolean)
    .join("; ");
}

function ago(time: string, now: number): string {
  return formatDuration(now - Date.parse(time));
}

function painted(state: string, { color }: Term): string {
  if (state === "working" || state === "idle") return color.green(state);
  if (state === "parked" || state === "not running") return color.red(state);
  return state === "starting" || state === "paused" ? color.yellow(state) : state;
}

export function upView(term: Term) {
  return { event: (event: Stamped<UpEvent>) => describe(event, term) };
}

function describe(event: Stamped<UpEvent>, { color }: Term): string | null {
  const time = color.dim(event.at.slice(11, 19));
  const note = "note" in event && event.note ? `: ${plain(event.note)}` : "";
  switch (event.kind) {
    case "up": {
      const count = counted(event.agents.length, "agent");
      return `${time} ${count} around ${plain(event.pit)} (pid ${event.pid})`;
    }
    case "leftover": {
      const left = event.survivors.length > 0 ? `; still there: ${event.survivors.join(", ")}` : "";
      return `${time} ${event.name} ${color.yellow(`ended a leftover run, pid ${event.pid}${left}`)}`;
    }
    case "started":
      return `${time} ${event.name} ${color.green("started")}, pid ${event.pid}`;
    case "ended":
      return `${time} ${event.name} ${note ? color.yellow(`ended${note}`) : "ended"}`;
    case "restarts":
      return `${time} ${event.name} restarts in ${formatDuration(event.after_ms)}`;
    case "waits":
      return `${time} ${event.name} ${color.yellow(`waits for its name${note}`)}`;
    case "parked":
      return `${time} ${event.name} ${color.red(`is parked${note}`)}`;
    case "runs":
      return null; // its end is told in a moment
    case "ran": {
      const took = color.dim(`in ${formatTook(event.duration_ms)}`);
      return `${time} ${event.name} ${note ? color.yellow(note.slice(2)) : "ran"} ${took}`;
    }
    case "trouble":
      return `${time} ${event.name} ${color.red(plain(event.message))}`;
    case "stopping": {
      const busy = event.working.join(", ");
      return busy === ""
        ? `${time} stopping`
        : `${time} stopping after the current tasks of ${busy}; interrupt again to release them now`;
    }
    case "finished":
      return `${time} all have ended`;
  }
}

export const commands = {
  service: serviceCommand,
  "fleet status": fleetStatusCommand,
} satisfies Record<string, Command>;
