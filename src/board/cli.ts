import type * as z from "zod/mini";
import { counted } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import type { Io } from "../operation/io.ts";
import { type Cell, plain, prose, type Term, table } from "../operation/term.ts";
import {
  boardAdvance,
  boardAudit,
  boardBounce,
  boardClaim,
  boardInit,
  boardLog,
  boardLs,
  boardNext,
  boardOpen,
  boardShow,
  type changed,
} from "./operations.ts";

type Output<O extends { output: z.ZodMiniType }> = z.output<O["output"]>;
type Changed = z.output<typeof changed>;

const asChange = {
  /** `research: claim hello-world  ASSIGNED → RESEARCH  1a2b3c4` */
  human: ({ from, to, commit, subject, slug, agent }: Changed, { color }: Term): string => {
    if (commit === null) return `${plain(slug)} is ${agent}'s already ${color.dim(plain(to))}`;
    const way = from === null || from === to ? to : `${from} → ${to}`;
    return `${color.green(plain(subject))} ${color.dim(`${plain(way)} ${commit.slice(0, 7)}`)}`;
  },
  /** The commit is made, but this checkout stayed behind. */
  after: (output: unknown, _: unknown, io: Io): void => {
    const { trouble } = output as Changed;
    if (trouble !== undefined) io.stderr.write(`viv: ${plain(trouble)}\n`);
  },
};

/** In the order of the keys in JSON. */
function taskRow(
  { slug, state, agent, title }: Output<typeof boardLs>["tasks"][number],
  { color }: Term,
): Cell[] {
  return [
    plain(slug),
    color.cyan(plain(state)),
    agent === null ? color.dim("-") : color.yellow(plain(agent)),
    prose(plain(title)),
  ];
}

export const commands = {
  "board init": {
    op: boardInit,
    placeholders: { board: "FILE" },
    examples: [
      ["viv board init", "board.org with the states of a newsroom, in one commit"],
      ['viv board init --states "TODO DOING REVIEW | DONE DROPPED"', "states of your own"],
    ],
    human: ({ board, states, created, commit }: Output<typeof boardInit>, { color }) => {
      const file = plain(board);
      if (commit === null)
        return `${file} is a board already ${color.dim(plain(states.join(" ")))}`;
      const what = created ? `made ${file}` : `committed ${file} as it is`;
      return `${color.green(what)} ${color.dim(plain(`${states.join(" ")} ${commit.slice(0, 7)}`))}\ntry: viv board open "hello world — one story"`;
    },
  },
  "board ls": {
    op: boardLs,
    examples: [
      ["viv board ls", "all tasks: name, state, owner, title"],
      ["viv board ls --state WRITING", "tasks in one state"],
    ],
    human: ({ tasks }: Output<typeof boardLs>, term) => {
      if (tasks.length === 0) return term.color.dim("no tasks");
      return table(
        tasks.map((task) => taskRow(task, term)),
        term,
      );
    },
  },
  "board next": {
    op: boardNext,
    examples: [
      [
        "viv board next --agent wren --state WRITING",
        "the first one owned by wren, else a free one",
      ],
      ["viv board next --agent moss --state ASSIGNED --exit-code", "for :RUN-IF: of a crew"],
    ],
    human: ({ task }: Output<typeof boardNext>, term) =>
      task === null ? term.color.dim("nothing to take") : table([taskRow(task, term)], term),
    json: ({ task }: Output<typeof boardNext>) => JSON.stringify({ task }),
    exit: ({ task, must }: Output<typeof boardNext>) => (task === null && must ? 1 : 0),
  },
  "board claim": {
    op: boardClaim,
    positionals: [{ key: "slug" }],
    examples: [
      ["viv board claim hello-world --agent moss", "one commit: research: claim hello-world"],
    ],
    ...asChange,
  },
  "board advance": {
    op: boardAdvance,
    positionals: [{ key: "slug" }],
    examples: [
      [
        `viv board advance hello-world --agent moss --note "9 facts, 4 sources"`,
        "to the next state",
      ],
      ["viv board advance hello-world --agent hale --to KILLED", "another end state"],
    ],
    ...asChange,
  },
  "board bounce": {
    op: boardBounce,
    positionals: [{ key: "slug" }],
    examples: [
      [
        `viv board bounce hello-world --agent hale --note "no source"`,
        "back to the previous state",
      ],
    ],
    ...asChange,
  },
  "board open": {
    op: boardOpen,
    names: { id: "slug", state: "to" },
    placeholders: { title: "TITLE" },
    positionals: [{ key: "title", many: true }],
    examples: [
      [`viv board open "hello world — one story"`, "a new task in the first state"],
      [
        `viv board open "Rust in space" --note "lead: the talk of May 3"`,
        "with text under the heading",
      ],
    ],
    ...asChange,
  },
  "board show": {
    op: boardShow,
    positionals: [{ key: "slug" }],
    examples: [
      ["viv board show hello-world", "its entry on the board"],
      ["viv board show hello-world --json | jq -r .body", "only its text"],
    ],
    human: (task: Output<typeof boardShow>, term) => {
      const { color } = term;
      const owner = task.agent === null ? color.dim("not claimed") : `by ${plain(task.agent)}`;
      const state = color.cyan(plain(task.state));
      const lines = [
        `${color.bold(plain(task.slug))}  ${state} ${owner} ${color.dim(`line ${task.line}`)}`,
        plain(task.title),
      ];
      const properties = Object.entries(task.properties).map((pair) => pair.map(plain));
      if (properties.length > 0) lines.push(table(properties, term));
      if (task.body !== "") lines.push("", plain(task.body));
      if (task.log.length > 0) lines.push("", color.bold("Log"), ...task.log.map(plain));
      return lines.join("\n");
    },
  },
  "board log": {
    op: boardLog,
    positionals: [{ key: "slug" }],
    examples: [["viv board log hello-world", "author, change and time of each commit"]],
    human: ({ commits }: Output<typeof boardLog>, term) => {
      const { color } = term;
      const rows = commits.map(({ commit, at, from, to, subject, author, agent }) => [
        color.yellow(commit.slice(0, 7)),
        color.dim(`${at.slice(0, 10)} ${at.slice(11, 16)}`),
        plain(agent ?? author),
        color.cyan(plain(from === to ? (to ?? "") : `${from ?? "new"} → ${to ?? "removed"}`)),
        prose(plain(subject)),
      ]);
      return rows.length === 0 ? color.dim("no commits") : table(rows, term);
    },
  },
  "board audit": {
    op: boardAudit,
    examples: [["viv board audit", "exit 1 when a commit broke the protocol"]],
    human: ({ commits, claims, findings, unseen }: Output<typeof boardAudit>, { color }) => {
      const result =
        findings.length === 0
          ? color.green("all by the protocol")
          : color.red(`${findings.length} broke the protocol`);
      return [
        ...findings.map(
          ({ commit, code, message, at }) =>
            `${color.yellow(commit.slice(0, 7))} ${color.dim(at.slice(0, 10))} ${color.red(code)} ${plain(message)}`,
        ),
        `${counted(commits, "commit")}, ${counted(claims, "claim")}: ${result}`,
        ...unseen.map((why) => color.yellow(`not audited: ${plain(why)}`)),
      ].join("\n");
    },
    exit: ({ findings }: Output<typeof boardAudit>) => (findings.length === 0 ? 0 : 1),
  },
} satisfies Record<string, Command>;
