import { formatDuration } from "../base/duration.ts";
import { counted } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import { plain, type Term, table } from "../operation/term.ts";
import { type GateOutput, gate } from "./operations.ts";

type View = Pick<GateOutput["machine"], "max" | "holders" | "queue">;

const gateCommand: Command = {
  op: gate,
  names: { state: "state-dir" },
  examples: [
    ["viv gate", "holders and queue"],
    ["viv gate --max 3", "at most 3 engines at a time on this machine; running ones continue"],
    ["viv gate --max none", "no limit"],
    ["viv gate --state-dir .crew --max 2", "the same for one crew"],
  ],
  human: ({ machine, crew, asked }: GateOutput, term, io) => {
    const { dim, yellow } = term.color;
    const lines = gateLines("the machine's gate", machine, term, io.now());
    if (machine.trouble !== undefined) lines.push(yellow(plain(machine.trouble)));
    if (crew) {
      const about = crew.alive === false ? `, which does not run` : "";
      const title = `the gate of the crew in ${plain(crew.state)}${about}`;
      lines.push(...gateLines(title, crew, term, io.now()));
    }
    if (asked) lines.push(dim(`the crew was asked to change its maximum to ${asked.max}`));
    return lines.join("\n");
  },
};

function gateLines(title: string, { max, holders, queue }: View, term: Term, now: number) {
  const { bold, green, yellow, dim } = term.color;
  const slots = max === null ? "no limit" : `${holders.length} of ${counted(max, "slot")} taken`;
  const waits = queue.length === 0 ? "" : `, ${queue.length} waiting`;
  const ago = (since: string) =>
    since === "" ? "" : `for ${formatDuration(now - Date.parse(since))}`;
  const rows = [
    ...holders.map((one) => [green("in"), plain(one.name), ago(one.since), "", pidOf(one)]),
    ...queue.map((one) => [
      yellow("waits"),
      plain(one.name),
      `for ${formatDuration(one.waiting_ms)}`,
      one.priority === "normal" ? "" : one.priority,
      pidOf(one),
    ]),
  ].map(([state = "", ...rest]) => [`  ${state}`, ...rest]);
  const head = `${bold(title)}: ${max === null ? dim(slots) : slots}${waits}`;
  return rows.length === 0 ? [head] : [head, table(rows, term)];
}

function pidOf({ pid }: { pid?: number }): string {
  return pid === undefined ? "" : `pid ${pid}`;
}

export const commands = {
  gate: gateCommand,
} satisfies Record<string, Command>;
