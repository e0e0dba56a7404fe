import type * as z from "zod/mini";
import { formatDuration } from "../../base/duration.ts";
import { counted } from "../../base/text.ts";
import type { Command } from "../../operation/command.ts";
import type { Stamped } from "../../operation/operation.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import {
  alive,
  type UpWardenEvent,
  type WardenStatus,
  wardenPause,
  wardenResume,
  wardenStatus,
  wardenUp,
} from "../operations/warden.ts";

const wardenUpCommand: Command = {
  op: wardenUp,
  placeholders: { state: "DIR", timeouts: "60s,120s,240s" },
  examples: [
    ["viv warden up", "until Ctrl-C; dances resume at the next start"],
    ["viv warden up --timeouts 6s,12s,24s --pool 2 --state ./w", "for testing"],
  ],
  view: wardenView,
};

export function wardenView(term: Term) {
  return { event: (event: Stamped<UpWardenEvent>) => describe(event, term) };
}

function describe(event: Stamped<UpWardenEvent>, { color }: Term): string {
  const time = color.dim(event.at.slice(11, 19));
  const who = "target" in event ? plain(event.target) : "";
  switch (event.kind) {
    case "up":
      return `${time} the warden is up with ${counted(event.pool, "dog")} (pid ${event.pid}, ${plain(event.state)})`;
    case "begins":
      return `${time} ${event.dog} takes ${plain(event.warrant)}: ${who}, ${plain(event.reason)}`;
    case "resumes":
      return `${time} ${event.dog} goes on with ${who} (${event.state})`;
    case "asked":
      return `${time} ${event.dog} asks ${who}, attempt ${event.attempt}, in ${plain(event.channel)}`;
    case "watched":
      return `${time} ${event.dog} watches ${who}, attempt ${event.attempt}: ${plain(event.why)}`;
    case "turn":
      return `${time} ${event.dog} ${who} holds the question back until its turn ends`;
    case "needs_you":
      return `${time} ${event.dog} ${color.yellow(plain(event.why))}`;
    case "holds":
      return `${time} ${event.dog} ${color.yellow(`holds: ${who}, ${plain(event.why)}`)}`;
    case "executes": {
      // Not "ends": a last look may still find that something in it was not asked.
      const processes = counted(event.processes, "process");
      return `${time} ${event.dog} ${color.red(`is about to end ${who}`)}, ${processes}`;
    }
    case "verdict": {
      const paint = event.verdict === "pardoned" ? color.green : color.red;
      return `${time} ${event.dog} ${who}: ${paint(event.verdict)}, ${plain(event.why)}`;
    }
    case "rejected":
      return `${time} ${color.yellow(`rejected ${plain(event.name)}: ${plain(event.why)}`)}`;
    case "withdrawn":
    case "released":
      return `${time} ${plain(event.warrant)} was ${event.kind} (${who})`;
    case "queued":
      return `${time} Warrant ${plain(event.warrant)} queued (${event.why}): ${who}`;
    case "paused":
      return `${time} ${color.red(`the pool is paused: ${plain(event.why)}`)}`;
    case "resumed":
      return `${time} the pool goes on`;
    case "observed":
      return `${time} ${color.yellow(`${event.rule}: ${who}`)}, ${plain(event.evidence)}`;
    case "ceased":
      return `${time} ${event.rule} no more: ${who}`;
    case "filed":
      return `${time} ${color.yellow(`${event.rule}: ${who}`)}, ${plain(event.evidence)}; filed ${event.warrant}`;
    case "trouble":
      return `${time} ${color.red(plain("what" in event ? event.what : event.message))}`;
    case "stopped":
      return `${time} the warden has stopped`;
  }
}

const SHOWN = 10;

const wardenStatusCommand: Command = {
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
      `${output.active} of ${counted(output.pool, "dog")} active, ${output.waiting} waiting; time-outs ${timeouts}`,
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

const wardenPauseCommand: Command = {
  op: wardenPause,
  placeholders: { state: "DIR" },
  examples: [['viv warden pause --why "the network is down"', "until: viv warden resume"]],
  human: ({ paused }: z.output<typeof wardenPause.output>) =>
    `the pool is paused since ${paused?.since} by ${plain(paused?.by ?? "")}: ${plain(paused?.why ?? "")}`,
};

const wardenResumeCommand: Command = {
  op: wardenResume,
  placeholders: { state: "DIR" },
  examples: [["viv warden resume", "after reading the epitaphs"]],
  human: ({ was }: z.output<typeof wardenResume.output>) =>
    was
      ? `the pool goes on; it was paused: ${plain(was.why)}`
      : "the pool was not paused (a warden with a folder of its own: --state DIR)",
};

const aliveCommand: Command = {
  op: alive,
  placeholders: { state: "DIR" },
  positionals: [{ key: "nonce" }],
  examples: [
    ["viv alive", "answers every question to this process or its ancestors"],
    ["viv alive k3x9-Qz7w", "with the nonce of the question"],
  ],
  human: ({ nonces }: { nonces: string[] }, { color }) =>
    nonces.map((nonce) => `ALIVE ${nonce}`).join("\n") || color.dim("nobody asks this process"),
};

export const commands = {
  "warden up": wardenUpCommand,
  "warden status": wardenStatusCommand,
  "warden pause": wardenPauseCommand,
  "warden resume": wardenResumeCommand,
  alive: aliveCommand,
} satisfies Record<string, Command>;
