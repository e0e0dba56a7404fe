import type * as z from "zod/mini";
import { formatDuration } from "../../base/duration.ts";
import { counted } from "../../base/text.ts";
import { type Command, UNTIL_STDIN_CLOSES } from "../../operation/command.ts";
import type { Stamped } from "../../operation/operation.ts";
import { type Cell, plain, prose, type Term, table } from "../../operation/term.ts";
import { wardenCommand } from "../folder.ts";
import { wardenReceipts } from "../operations/receipts.ts";
import {
  alive,
  type WardenStatus,
  wardenPause,
  wardenResume,
  wardenStatus,
  wardenUp,
} from "../operations/warden.ts";
import type { WardenEvent } from "../warden-host.ts";

const names = { state: "state-dir" };

export const commands = {
  "warden up": {
    op: wardenUp,
    names,
    flags: UNTIL_STDIN_CLOSES,
    placeholders: { timeouts: "60s,120s,240s" },
    examples: [
      ["viv warden up", "until Ctrl-C; dances resume at the next start"],
      ["viv warden up --timeouts 6s,12s,24s --pool 2 --state-dir ./w", "for testing"],
    ],
    view: wardenView,
  },
  "warden status": {
    op: wardenStatus,
    names,
    examples: [["viv warden status", "its dogs, its last verdicts, its findings"]],
    human: (output: WardenStatus, term) => {
      const { bold, dim, yellow, green } = term.color;
      const state = output.up
        ? green(`up, pid ${output.pid}, since ${output.since}`)
        : yellow(`not up; start it: ${wardenCommand("up", plain(output.state))}`);
      const timeouts = output.timeouts_ms.map((ms) => formatDuration(ms)).join(", ");
      return [
        `${bold("Warden:")} ${state} ${dim(`(${plain(output.state)})`)}`,
        `${output.active} of ${counted(output.pool, "dog")} active, ${output.waiting} waiting; time-outs ${timeouts}`,
        ...pauseLines(output).map(yellow),
        ...part("Found", output.findings.map(findingRow), term),
        ...part("Verdicts of the last day", output.verdicts.map(verdictRow), term),
      ].join("\n");
    },
  },
  "warden receipts": {
    op: wardenReceipts,
    names,
    examples: [["viv warden receipts --since 22:00", "each with its proof: viv epitaph ID"]],
    human: (output: z.output<typeof wardenReceipts.output>, term) => {
      const { dim } = term.color;
      if (output.receipts.length === 0) return dim("no receipts");
      const rows = output.receipts.map((one) => [
        ...[dim(one.ended_at.slice(0, 16)), plain(one.warrant), plain(one.target), one.verdict],
        `asked ${one.asked}`,
        one.exit.length === 0 ? "" : `ended ${counted(one.exit.length, "process", String)}`,
        prose(plain(one.why)),
      ]);
      const more = output.more > 0 ? [dim(`${output.more} more: --limit N`)] : [];
      return [table(rows, term), ...more].join("\n");
    },
  },
  "warden pause": {
    op: wardenPause,
    names: { ...names, why: "note" },
    aliases: { reason: "note" },
    examples: [['viv warden pause --note "the network is down"', "until: viv warden resume"]],
    human: ({ paused }: z.output<typeof wardenPause.output>) =>
      `the pool is paused since ${paused?.since} by ${plain(paused?.by ?? "")}: ${plain(paused?.why ?? "")}`,
  },
  "warden resume": {
    op: wardenResume,
    names,
    examples: [["viv warden resume", "after reading the epitaphs"]],
    human: ({ was }: z.output<typeof wardenResume.output>) =>
      was
        ? `the pool goes on; it was paused: ${plain(was.why)}`
        : "the pool was not paused (a warden with a folder of its own: --state-dir DIR)",
  },
  alive: {
    op: alive,
    names,
    positionals: [{ key: "nonce" }],
    examples: [
      ["viv alive", "answers every question to this process or its ancestors"],
      ["viv alive k3x9-Qz7w", "with the nonce of the question"],
    ],
    human: ({ nonces }: { nonces: string[] }, { color }) =>
      nonces.map((nonce) => `ALIVE ${nonce}`).join("\n") ||
      color.dim("no question to this process"),
  },
} satisfies Record<string, Command>;

export function wardenView({ color }: Term) {
  return {
    event: (event: Stamped<WardenEvent>) =>
      `${color.dim(event.at.slice(11, 19))} ${eventText(event, color)}`,
  };
}

function eventText(event: WardenEvent, { red, yellow, green }: Term["color"]): string {
  const target = "target" in event ? plain(event.target) : "";
  switch (event.kind) {
    case "up":
      return `the warden is up with ${counted(event.pool, "dog")} (pid ${event.pid}, ${plain(event.state)})`;
    case "begins":
      return `${event.dog} takes ${plain(event.warrant)}: ${target}, ${plain(event.reason)}`;
    case "resumes":
      return `${event.dog} goes on with ${target} (${event.state})`;
    case "asked":
      return `${event.dog} asks ${target}, attempt ${event.attempt}, in ${plain(event.channel)}`;
    case "watched":
      return `${event.dog} watches ${target}, attempt ${event.attempt}: ${plain(event.why)}`;
    case "turn":
      return `${event.dog} ${target} holds the question back until its turn ends`;
    case "needs_you":
      return `${event.dog} ${yellow(plain(event.why))}`;
    case "holds":
      return `${event.dog} ${yellow(`holds: ${target}, ${plain(event.why)}`)}`;
    case "executes":
      // Not "ends": a last look may still find that something in it was not asked.
      return `${event.dog} ${red(`is about to end ${target}`)}, ${counted(event.processes, "process")}`;
    case "verdict": {
      const paint = event.verdict === "pardoned" ? green : red;
      return `${event.dog} ${target}: ${paint(event.verdict)}, ${plain(event.why)}`;
    }
    case "rejected":
      return yellow(`rejected ${plain(event.name)}: ${plain(event.why)}`);
    case "withdrawn":
    case "released":
      return `${plain(event.warrant)} was ${event.kind} (${target})`;
    case "queued":
      return `Warrant ${plain(event.warrant)} queued (${event.why}): ${target}`;
    case "paused":
      return red(`the pool is paused: ${plain(event.why)}`);
    case "resumed":
      return "the pool goes on";
    case "observed":
    case "filed": {
      const filed = event.kind === "filed" ? `; filed ${event.warrant}` : "";
      return `${yellow(`${event.rule}: ${target}`)}, ${plain(event.evidence)}${filed}`;
    }
    case "ceased":
      return `${event.rule} no more: ${target}`;
    case "trouble":
      return red(plain("what" in event ? event.what : event.message));
    case "stopped":
      return "the warden has stopped";
  }
}

function pauseLines({ paused, held, state }: WardenStatus): string[] {
  if (paused === null) return [];
  return [
    `paused by ${plain(paused.by)}: ${plain(paused.why)}`,
    ...held.map(({ dog, target }) => `  ${dog} holds the execution of ${plain(target)}`),
    `  to go on: ${wardenCommand("resume", plain(state))}`,
  ];
}

const SHOWN = 10;

function part(title: string, rows: Cell[][], term: Term): string[] {
  if (rows.length === 0) return [];
  const more = rows.length > SHOWN ? [term.color.dim(`  … and ${rows.length - SHOWN} more`)] : [];
  return ["", term.color.bold(title), table(rows.slice(0, SHOWN), term), ...more];
}

function findingRow(one: Record<string, unknown>): Cell[] {
  const [evidence = "", ...names] = [one.evidence, one.at, one.rule, one.target].map((cell) =>
    plain(String(cell ?? "")),
  );
  return [...names, prose(evidence)];
}

function verdictRow({ ended_at, verdict, target, warrant, why }: WardenStatus["verdicts"][number]) {
  return [ended_at, verdict, plain(target), plain(warrant), prose(plain(why))];
}
