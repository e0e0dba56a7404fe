import type * as z from "zod/mini";
import type { Command } from "../operation/command.ts";
import type { Io } from "../operation/io.ts";
import { plain, type Term, table } from "../operation/term.ts";
import {
  boardAdvance,
  boardAudit,
  boardBounce,
  boardClaim,
  boardLog,
  boardLs,
  boardNext,
  boardOpen,
  boardShow,
  type changed,
} from "./operations.ts";

type Changed = z.output<typeof changed>;

/** `research: claim hello-world  ASSIGNED → RESEARCH  1a2b3c4` */
export function changedLine(output: Changed, { color }: Term): string {
  const { from, to, commit, subject, slug, agent } = output;
  if (commit === null) return `${plain(slug)} is ${agent}'s already ${color.dim(plain(to))}`;
  const way = from === null ? to : from === to ? to : `${from} → ${to}`;
  return `${color.green(plain(subject))} ${color.dim(`${plain(way)} ${commit.slice(0, 7)}`)}`;
}

/** It is made, but something in this checkout stayed behind. */
export function tellTrouble(output: unknown, _: unknown, io: Io): void {
  const { trouble } = output as Changed;
  if (trouble !== undefined) io.stderr.write(`viv: ${plain(trouble)}\n`);
}

export function taskRow(
  task: { slug: string; state: string; agent: string | null; title: string },
  { color }: Term,
): string[] {
  return [
    color.cyan(plain(task.state)),
    plain(task.slug),
    task.agent === null ? color.dim("-") : color.yellow(plain(task.agent)),
    plain(task.title),
  ];
}

const boardLsCommand: Command = {
  op: boardLs,
  examples: [
    ["viv board ls", "all tasks: state, name, owner, title"],
    ["viv board ls --state WRITING", "tasks in one state"],
  ],
  human: ({ tasks }: z.output<typeof boardLs.output>, term) =>
    tasks.length === 0
      ? term.color.dim("no tasks")
      : table(
          tasks.map((task) => taskRow(task, term)),
          term,
        ),
};

type NextOutput = z.output<typeof boardNext.output>;

const boardNextCommand: Command = {
  op: boardNext,
  examples: [
    ["viv board next --agent wren --state WRITING", "the first one owned by wren, else a free one"],
    ["viv board next --agent moss --state ASSIGNED --exit-code", "for :RUN-IF: of a crew"],
  ],
  human: ({ task }: NextOutput, { color }) =>
    task === null
      ? color.dim("nothing to take")
      : `${plain(task.slug)} ${color.dim(plain(`${task.state}${task.agent === null ? "" : " (yours)"} ${task.title}`))}`,
  json: ({ task }: NextOutput) => JSON.stringify({ task }),
  exit: ({ task, must }: NextOutput) => (task === null && must ? 1 : 0),
};

const boardClaimCommand: Command = {
  op: boardClaim,
  positionals: [{ key: "slug" }],
  examples: [
    ["viv board claim hello-world --agent moss", "one commit: research: claim hello-world"],
  ],
  human: changedLine,
  after: tellTrouble,
};

const boardAdvanceCommand: Command = {
  op: boardAdvance,
  positionals: [{ key: "slug" }],
  examples: [
    [`viv board advance hello-world --agent moss --note "9 facts, 4 sources"`, "to the next state"],
    ["viv board advance hello-world --agent hale --to KILLED", "another end state"],
  ],
  human: changedLine,
  after: tellTrouble,
};

const boardBounceCommand: Command = {
  op: boardBounce,
  positionals: [{ key: "slug" }],
  examples: [
    [`viv board bounce hello-world --agent hale --note "no source"`, "back to the previous state"],
  ],
  human: changedLine,
  after: tellTrouble,
};

const boardOpenCommand: Command = {
  op: boardOpen,
  positionals: [{ key: "title", many: true }],
  examples: [
    [`viv board open "hello world — one story"`, "a new task in the first state"],
    [
      `viv board open "Rust in space" --note "lead: the talk of May 3"`,
      "with text under the heading",
    ],
  ],
  human: changedLine,
  after: tellTrouble,
};

const boardShowCommand: Command = {
  op: boardShow,
  positionals: [{ key: "slug" }],
  examples: [
    ["viv board show hello-world", "its entry on the board"],
    ["viv board show hello-world --json | jq -r .body", "only its text"],
  ],
  human: (task: z.output<typeof boardShow.output>, term) => {
    const { color } = term;
    const who = task.agent === null ? color.dim("nobody has it") : `by ${plain(task.agent)}`;
    const state = color.cyan(plain(task.state));
    const lines = [
      `${color.bold(plain(task.slug))}  ${state} ${who} ${color.dim(`line ${task.line}`)}`,
      plain(task.title),
    ];
    const properties = Object.entries(task.properties).map((pair) => pair.map(plain));
    if (properties.length > 0) lines.push(table(properties, term));
    if (task.body !== "") lines.push("", plain(task.body));
    if (task.log.length > 0) lines.push("", color.bold("Log"), ...task.log.map(plain));
    return lines.join("\n");
  },
};

const boardLogCommand: Command = {
  op: boardLog,
  positionals: [{ key: "slug" }],
  examples: [["viv board log hello-world", "author, change and time of each commit"]],
  human: ({ commits }: z.output<typeof boardLog.output>, term) => {
    const { color } = term;
    const rows = commits.map(({ commit, at, from, to, subject, author, agent }) => [
      color.yellow(commit.slice(0, 7)),
      color.dim(`${at.slice(0, 10)} ${at.slice(11, 16)}`),
      plain(agent ?? author),
      color.cyan(plain(from === to ? (to ?? "") : `${from ?? "new"} → ${to ?? "removed"}`)),
      plain(subject),
    ]);
    return rows.length === 0 ? color.dim("no commits") : table(rows, term);
  },
};

type AuditOutput = z.output<typeof boardAudit.output>;

const boardAuditCommand: Command = {
  op: boardAudit,
  examples: [["viv board audit", "exit 1 when a commit broke the protocol"]],
  human: ({ commits, claims, findings }: AuditOutput, { color }) =>
    [
      ...findings.map(
        ({ commit, code, message, at }) =>
          `${color.yellow(commit.slice(0, 7))} ${color.dim(at.slice(0, 10))} ${color.red(code)} ${plain(message)}`,
      ),
      `${commits} commits, ${claims} claims: ${findings.length === 0 ? color.green("all by the protocol") : color.red(`${findings.length} broke the protocol`)}`,
    ].join("\n"),
  exit: ({ findings }: AuditOutput) => (findings.length === 0 ? 0 : 1),
};

export const commands = {
  "board ls": boardLsCommand,
  "board next": boardNextCommand,
  "board claim": boardClaimCommand,
  "board advance": boardAdvanceCommand,
  "board bounce": boardBounceCommand,
  "board open": boardOpenCommand,
  "board show": boardShowCommand,
  "board log": boardLogCommand,
  "board audit": boardAuditCommand,
} satisfies Record<string, Command>;
