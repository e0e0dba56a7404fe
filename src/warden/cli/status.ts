import { formatDuration } from "../../base/duration.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import { type WardenStatus, wardenStatus } from "../operations/care.ts";

const SHOWN = 10;

export const command: Command = {
  op: wardenStatus,
  placeholders: { state: "DIR" },
  examples: [["viv warden status", "its dogs, its last verdicts, its findings"]],
  human: (output: WardenStatus, term) => {
    const { bold, dim, yellow, green } = term.color;
    const who = output.up
      ? green(`up, pid ${output.pid}, since ${output.since}`)
      : yellow("not up; start it: viv warden up");
    const timeouts = output.timeouts_ms.map((ms) => formatDuration(ms)).join(", ");
    return [
      `${bold("Warden:")} ${who} ${dim(`(${plain(output.state)})`)}`,
      `${output.active}/${output.pool} dogs active, ${output.waiting} waiting; time-outs ${timeouts}`,
      ...(output.paused
        ? [
            yellow(`paused by ${plain(output.paused.by)}: ${plain(output.paused.why)}`),
            ...output.held.map(({ dog, target }) =>
              yellow(`  ${dog} holds the execution of ${plain(target)}`),
            ),
            yellow("  to go on: viv warden resume"),
          ]
        : []),
      ...part("Found", output.findings.map(findingRow), term),
      ...part("Verdicts of the last day", output.verdicts.map(verdictRow), term),
    ].join("\n");
  },
};

function part(title: string, rows: string[][], term: Term): string[] {
  if (rows.length === 0) return [];
  const more = rows.length > SHOWN ? [term.color.dim(`  … and ${rows.length - SHOWN} more`)] : [];
  return ["", term.color.bold(title), table(rows.slice(0, SHOWN), term), ...more];
}

function findingRow(one: Record<string, unknown>): string[] {
  return [one.at, one.rule, one.target, one.evidence].map((cell) => plain(String(cell ?? "")));
}

function verdictRow({ ended_at, verdict, target, warrant, why }: WardenStatus["verdicts"][number]) {
  return [ended_at, verdict, plain(target), plain(warrant), plain(why)];
}
