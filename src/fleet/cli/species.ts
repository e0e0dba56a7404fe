import { formatDuration } from "../../base/duration.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import { type SpeciesOutput, species } from "../operations/species.ts";

/** What `viv status` is when it is given `--config`. */
export const command: Command = {
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
      agent.restarts === 0 ? "" : `${agent.restarts} restart${agent.restarts === 1 ? "" : "s"}`,
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
