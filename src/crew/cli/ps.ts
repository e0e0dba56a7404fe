import type * as z from "zod/mini";
import { formatUsd } from "../../base/amount.ts";
import { formatDuration } from "../../base/duration.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import { crewPs } from "../operations/ps.ts";

type Output = z.output<typeof crewPs.output>;

export const command: Command = {
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
