import { closeSync } from "node:fs";
import { resolve } from "node:path";
import type * as z from "zod/mini";
import { formatUsd } from "../../base/amount.ts";
import { VivError } from "../../base/errors.ts";
import { counted } from "../../base/text.ts";
import type { Entry } from "../../ledger/line.ts";
import type { Command, StreamView } from "../../operation/command.ts";
import type { Io } from "../../operation/io.ts";
import { clip, plain, type Term, table } from "../../operation/term.ts";
import { MOST_COUNTED } from "./ledgers.ts";
import {
  ledgerExport,
  ledgerShow,
  ledgerTail,
  ledgerVerify,
  type TailEvent,
} from "./operations.ts";

const ALIASES = {
  ...{ room: "rooms", event: "events", task: "tasks", agent: "agents", type: "types" },
};

const showCommand: Command = {
  op: ledgerShow,
  aliases: ALIASES,
  examples: [
    ["viv ledger show", "the last fifty lines"],
    ["viv ledger show --tasks t.1", "the story of a task"],
    ["viv ledger show --events executed,pardoned --since 7d", "verdicts of the last week"],
    ["viv ledger show --rooms crew --agents ada --json", ""],
  ],
  human: ({ lines, more, notes }: z.output<typeof ledgerShow.output>, term) => {
    const { dim, yellow } = term.color;
    if (lines.length === 0) return [dim("no line"), ...notes.map(yellow)].join("\n");
    const left = more < MOST_COUNTED ? counted(more, "earlier line") : "many earlier lines";
    const before = more > 0 ? [dim(`… ${left}; see --limit, --since`)] : [];
    return [...before, ...rows(lines, term), ...notes.map(yellow)].join("\n");
  },
};

const tailCommand: Command = {
  op: ledgerTail,
  aliases: ALIASES,
  shorts: { follow: "f", lines: "n" },
  examples: [
    ["viv ledger tail -f", "everything as it happens"],
    ["viv ledger tail -f --rooms warden", ""],
    [
      "viv ledger tail -f --json | jq -r 'select(.event==\"landed\").task'",
      "one line of JSON each",
    ],
  ],
  view: (term, io) => ({
    event: (event: TailEvent) => (isNotice(event) ? noticed(event, io) : row(event, term, WIDTHS)),
  }),
  jsonView: (io) => ({
    event: (event: TailEvent) => (isNotice(event) ? noticed(event, io) : JSON.stringify(event)),
  }),
};

function isNotice(event: TailEvent): event is { notice: string } {
  return "notice" in event && !("event" in event);
}

function noticed({ notice }: { notice: string }, { stderr }: Io): null {
  stderr.write(`${plain(notice)}\n`);
  return null;
}

/** The processes that seal each ledger. */
const SEALERS: Record<string, string> = {
  run: "viv up, viv work, viv serve",
  crew: "viv crew up",
  warden: "viv warden up",
};

const verifyCommand: Command = {
  op: ledgerVerify,
  examples: [["viv ledger verify", "exits with 1 if a closed file or a seal was changed"]],
  exit: ({ ok }: z.output<typeof ledgerVerify.output>) => (ok ? 0 : 1),
  human: ({ ledgers, notes }: z.output<typeof ledgerVerify.output>, term) => {
    const { color } = term;
    const overview = ledgers.map(({ name, folder, sealed, open, overdue, problems }) => [
      problems.length === 0 ? color.green("ok") : color.red("changed"),
      name,
      [
        `${counted(sealed, "sealed day")}, ${open.length} not sealed yet`,
        ...(overdue.length > 0 ? [color.yellow(`${overdue.length} without a seal`)] : []),
      ].join(", "),
      color.dim(plain(folder)),
    ]);
    const unsealed = ledgers.flatMap(({ name, overdue: [first, ...others] }) => {
      if (first === undefined) return [];
      const days = others.length > 0 ? `${first} to ${others.at(-1)} have` : `${first} has`;
      const why = `no process that seals (${SEALERS[name]}) has run since, or the seals were removed`;
      return [color.yellow(`${name}: ${days} no seal: ${why}`)];
    });
    const found = ledgers.flatMap(({ name, problems }) =>
      problems.map(({ file, problem }) => `${name}: ${color.red(file)} ${plain(problem)}`),
    );
    return [table(overview, term), ...found, ...unsealed, ...notes.map(color.yellow)].join("\n");
  },
};

const exportCommand: Command = {
  op: ledgerExport,
  aliases: ALIASES,
  flags: {
    out: { kind: "string", placeholder: "FILE", describe: "write to this new file" },
  },
  examples: [
    ["viv ledger export --out record.jsonl", "all lines, by time"],
    ["viv ledger export --format csv --out record.csv --since 30d", "for a spreadsheet"],
  ],
  view: (_, io) => exportView(io),
  jsonView: (io) => exportView(io),
  instead: async ({ out }) => {
    if (out === undefined) return undefined;
    if (out === "") throw new VivError("USAGE", "--out is empty; give it a file.");
    const view = (io: Io) => exportView(io, String(out));
    return { ...exportCommand, instead: undefined, view: (_, io) => view(io), jsonView: view };
  },
};

type Exported = z.output<typeof ledgerExport.output>;

function exportView(io: Io, out?: string): StreamView {
  const end = ({ notes }: Exported) => {
    for (const notice of notes) noticed({ notice }, io);
    return null;
  };
  if (out === undefined) return { event: ({ text }: { text: string }) => text, end };
  const file = outFile(resolve(io.cwd, out));
  return {
    event: ({ text }: { text: string }) => {
      file.write(`${text}\n`);
      return null;
    },
    end: (output: Exported) => {
      end(output);
      return `wrote ${counted(output.lines, "line")} to ${plain(out)}`;
    },
    close: () => file.close(),
  };
}

/** Opened at once, so that a mistake shows before anything is read. */
function outFile(path: string) {
  const { openSync, writeSync } = process.getBuiltinModule("node:fs");
  let fd: number;
  try {
    fd = openSync(path, "wx", 0o600);
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code === "EEXIST";
    const why = isThere ? "is there already; remove it or choose another name" : String(cause);
    throw new VivError("USAGE", `--out ${path} ${why}.`, {}, { cause });
  }
  return {
    write: (text: string) => {
      const bytes = Buffer.from(text, "utf8");
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    },
    close: () => closeSync(fd),
  };
}

interface Widths {
  event: number;
  agent: number;
  task: number;
}

/** Of lines that come one by one. */
const WIDTHS: Widths = { event: 13, agent: 12, task: 12 };
const WIDEST: Widths = { event: 16, agent: 24, task: 32 };
const WHEN = 19;
const ROOM = 6;

function rows(lines: readonly Entry[], term: Term): string[] {
  const widest = (key: keyof Widths) =>
    Math.min(WIDEST[key], Math.max(...lines.map((line) => plain(String(line[key] ?? "")).length)));
  const widths = { event: widest("event"), agent: widest("agent"), task: widest("task") };
  return lines.map((line) => row(line, term, widths));
}

function row(line: Entry, term: Term, widths: Widths): string {
  const { dim } = term.color;
  const at = plain(line.at).slice(0, WHEN).replace("T", " ");
  const room = plain(line.room).padEnd(ROOM);
  const event = plain(line.event).padEnd(widths.event);
  const agent = plain(line.agent).padEnd(widths.agent);
  const task = plain(line.task ?? "").padEnd(widths.task);
  const used = `${at}  ${room}  ${event}  ${agent}  ${task}  `.length;
  const detail = clip(detailOf(line), Math.max(20, term.width - used));
  const head = `${dim(at)}  ${dim(room)}  ${paint(line, term)(event)}  ${agent}  ${task}`;
  return detail === "" ? head.trimEnd() : `${head}  ${dim(detail)}`;
}

const BAD = new Set([
  "executed",
  "failed",
  "conflict",
  "merge_red",
  "part_parked",
  "config_bad",
  "schedule_failed",
]);
const GOOD = new Set(["landed", "approved", "pardoned", "saved"]);
const ATTENTION = new Set(["needs_you", "held", "parked", "paused", "pool_paused", "cancelled"]);

function paint({ event, to }: Entry, { color }: Term): (text: string) => string {
  if (BAD.has(event) || (event === "ended" && to === "failed")) return color.red;
  if (GOOD.has(event) || (event === "ended" && to === "done")) return color.green;
  return ATTENTION.has(event) ? color.yellow : color.cyan;
}

/** What happened, from the keys that most events have. */
function detailOf(line: Entry): string {
  const text = (key: string) => (typeof line[key] === "string" ? (line[key] as string) : "");
  const move = [text("from"), text("to")].filter(Boolean).join(" → ");
  const about = [text("tool"), text("target"), text("text")].filter(Boolean).join(" ");
  const usd = typeof line.usd === "number" && line.usd > 0 ? formatUsd(line.usd) : "";
  const subject = text("part") || text("schedule");
  const end = [text("outcome"), about, text("type"), usd, text("note"), text("receipt")];
  const parts = [subject, move, ...end];
  return plain(parts.filter(Boolean).join("  ")).replace(/\s*\n\s*/g, " ");
}

export const commands = {
  "ledger show": showCommand,
  "ledger tail": tailCommand,
  "ledger verify": verifyCommand,
  "ledger export": exportCommand,
} satisfies Record<string, Command>;
