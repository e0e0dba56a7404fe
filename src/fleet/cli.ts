import type * as z from "zod/mini";
import { formatDuration, formatTook } from "../base/duration.ts";
import { counted } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import type { Stamped } from "../operation/operation.ts";
import { plain, prose, type Term, table } from "../operation/term.ts";
import { type SpeciesOutput, species } from "./operations.ts";
import { service } from "./systemd-service.ts";
import type { UpEvent } from "./up-ports.ts";
import { LEFT_OVER } from "./ups.ts";

/** A comment for commands whose purpose is not obvious, by a word in them. */
const PURPOSE: Record<string, string> = {
  link: "systemd does not search this folder",
  restart: "with its new settings",
  "enable-linger": "go on after you log out, and start with the machine",
  "-u": "its log",
};

export const commands = {
  service: {
    op: service,
    names: { worker_id: "worker" },
    positionals: [{ key: "action", needed: true }],
    examples: [
      ["viv service install", "routes from viv.toml; prints the next commands"],
      [
        "viv service install --handler ./handle.sh --concurrency 4",
        "one executable for every task",
      ],
      ["viv service install --fleet", "viv up: everything that viv.toml declares"],
      ["viv service install --force --types audit,fix", "change the settings"],
      ["viv service uninstall", "after systemctl --user disable --now …"],
    ],
    human: ({ files, next }: z.output<typeof service.output>, { color }) => {
      const done = files.map(({ path, status }) => {
        const paint = status === "written" || status === "removed" ? color.green : color.dim;
        return `${paint(status)} ${plain(path)}`;
      });
      const commands = next.flatMap((line) => {
        const why = line.split(" ").flatMap((word) => PURPOSE[word] ?? [])[0];
        return [...(why ? [color.dim(`  # ${why}`)] : []), `  ${color.cyan(plain(line))}`];
      });
      return [...done, "", color.bold("Now run"), ...commands].join("\n");
    },
  },

  /** `viv status --config`. */
  "fleet status": {
    op: species,
    examples: [["viv status --config agents.toml", ""]],
    human: (output: SpeciesOutput, term, io) => {
      const now = io.now();
      const rows = output.agents.map((agent) => [
        agent.name,
        painted(agent.state, term),
        agent.pid === null ? "" : `pid ${agent.pid}`,
        agent.since === null ? "" : ago(agent.since, now),
        agent.restarts === 0 ? "" : counted(agent.restarts, "restart"),
        plain(facts(agent, now)),
        prose(plain(agent.note)),
      ]);
      const { service } = output;
      const pid = service.pid === null ? "" : `, pid ${service.pid} on ${service.host}`;
      const since = service.since === null ? "" : `, for ${ago(service.since, now)}`;
      const note = service.note ? ` (${plain(service.note)})` : "";
      return [
        table([["service", painted(service.state, term)]], term) + pid + since + note,
        term.color.dim(plain(output.pit)),
        "",
        table(rows, term),
      ].join("\n");
    },
  },
} satisfies Record<string, Command>;

function facts(agent: SpeciesOutput["agents"][number], now: number): string {
  const next = agent.next_run === null ? Number.NaN : Date.parse(agent.next_run) - now;
  return [
    agent.digesting.length > 0 ? `digesting ${agent.digesting.join(", ")}` : "",
    agent.last_run === null ? "" : `ran ${ago(agent.last_run, now)} ago`,
    Number.isNaN(next) ? "" : `again in ${formatDuration(next)}`,
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
  const isDoubtful = ["starting", "paused", LEFT_OVER].includes(state);
  return isDoubtful ? color.yellow(state) : state;
}

export function upView(term: Term) {
  return { event: (event: Stamped<UpEvent>) => describe(event, term) };
}

function describe(event: Stamped<UpEvent>, { color }: Term): string | null {
  const text = eventText(event, color);
  return text === null ? null : `${color.dim(event.at.slice(11, 19))} ${text}`;
}

function eventText(event: UpEvent, color: Term["color"]): string | null {
  const note = "note" in event && event.note ? `: ${plain(event.note)}` : "";
  switch (event.kind) {
    case "up":
      return `${counted(event.agents.length, "agent")} around ${plain(event.pit)} (pid ${event.pid})`;
    case "lingers": {
      const food = event.digesting.length > 0 ? event.digesting.join(", ") : "its food";
      const text = `of an earlier viv up is still at ${food}, pid ${event.pid}; it ends after that`;
      return `${event.name} ${color.yellow(text)}`;
    }
    case "leftover": {
      const left = event.survivors.length > 0 ? `; still there: ${event.survivors.join(", ")}` : "";
      return `${event.name} ${color.yellow(`ended a leftover run, pid ${event.pid}${left}`)}`;
    }
    case "started":
      return `${event.name} ${color.green("started")}, pid ${event.pid}`;
    case "ended":
      return `${event.name} ${note ? color.yellow(`ended${note}`) : "ended"}`;
    case "restarts":
      return `${event.name} restarts in ${formatDuration(event.after_ms)}`;
    case "waits":
      return `${event.name} ${color.yellow(`waits for its name${note}`)}`;
    case "parked":
      return `${event.name} ${color.red(`is parked${note}`)}`;
    case "runs":
      return null; // its end is reported
    case "ran": {
      const took = color.dim(`in ${formatTook(event.duration_ms)}`);
      return `${event.name} ${note ? color.yellow(note.slice(2)) : "ran"} ${took}`;
    }
    case "trouble":
      return `${event.name} ${color.red(plain(event.message))}`;
    case "stopping": {
      const busy = event.working.join(", ");
      if (busy === "") return "stopping";
      return `stopping after the current tasks of ${busy}; interrupt again to release them now`;
    }
    case "finished":
      return "all have ended";
  }
}
