import type * as z from "zod/mini";
import { formatDuration } from "../../base/duration.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import type { Dance, Receipt } from "../dance.ts";
import {
  epitaph,
  type WarrantList,
  warrantFile,
  warrantLs,
  warrantShow,
  warrantWithdraw,
} from "../operations/warrants.ts";
import type { Warrant } from "../warrant.ts";

const warrantFileCommand: Command = {
  op: warrantFile,
  placeholders: { pid: "N", worker: "ID", agent: "NAME", watch: "FILE", state: "DIR", crew: "DIR" },
  positionals: [{ key: "session" }],
  examples: [
    ["viv warrant file agent-1 --reason no_progress --by deacon", "a tmux session"],
    ["viv warrant file --pid 4711 --watch out.log", "a process; out.log growing is progress"],
    ["viv warrant file --run ./audit --worker w1", "its claims are released if it is ended"],
    ["viv warrant file --agent moss", "the run of a crew's member"],
  ],
  human: ({ id, filed, target, notes }: z.output<typeof warrantFile.output>, { color }) =>
    [
      filed
        ? `filed ${color.bold(id)} for ${plain(target)}`
        : `not filed: ${color.bold(id)} is open`,
      ...notes.map((note) => color.yellow(plain(note))),
    ].join("\n"),
};

const warrantLsCommand: Command = {
  op: warrantLs,
  placeholders: { state: "DIR" },
  examples: [["viv warrant ls", "active and queued warrants"]],
  human: (output: WarrantList, term) => {
    const { color } = term;
    const rows = [
      ...output.dances.map((one) => [
        plain(one.warrant),
        color.yellow(one.state),
        plain(one.target),
        plain(one.reason),
        `by ${plain(one.requester)}`,
        color.dim(one.dog),
      ]),
      ...warrantRows(output, term),
    ];
    const list = rows.length === 0 ? [color.dim("no warrants")] : [table(rows, term)];
    return [...list, ...badLines(output, term)].join("\n");
  },
};

export function warrantRows({ warrants }: Pick<WarrantList, "warrants">, { color }: Term) {
  return warrants.map((one) => [
    plain(one.id),
    "waits",
    plain(one.target),
    plain(one.reason),
    `by ${plain(one.requester)}`,
    color.dim(`for ${formatDuration(one.waiting_ms)}`),
  ]);
}

export function badLines({ bad }: Pick<WarrantList, "bad">, { color }: Term): string[] {
  return bad.map(({ name, why }) => color.red(`${plain(name)}: ${plain(why)}`));
}

interface Output {
  id: string;
  state: string;
  warrant: Warrant;
  dance?: Dance;
  receipt?: Receipt;
}

const warrantShowCommand: Command = {
  op: warrantShow,
  placeholders: { state: "DIR" },
  positionals: [{ key: "id" }],
  examples: [["viv warrant show w1", "or the dog that has it"]],
  human: ({ id, state, warrant, dance, receipt }: Output, term) => {
    const { color } = term;
    const { target, kind, reason, requester, filed_at, bound, watch } = warrant;
    const rows = [
      ["target", `${kind} ${plain(target)}`],
      ["reason", plain(reason)],
      ["by", plain(requester)],
      ["filed", filed_at],
      ...(bound === null ? [] : [["bound to", plain(JSON.stringify(bound))]]),
      ...watch.map((path) => ["watches", plain(path)]),
      ...(dance ? danceRows(dance) : []),
      ...(receipt ? receiptRows(receipt) : []),
    ];
    return `${color.bold(plain(id))}  ${color.yellow(state)}\n${table(rows, term)}`;
  },
};

function danceRows({ id, state, attempt, next_timeout }: Dance): string[][] {
  const until = next_timeout === null ? "" : `, until ${next_timeout}`;
  return [["dog", `${id}, ${state}, attempt ${attempt}${until}`]];
}

function receiptRows({ dog, verdict, why, ended_at, reaped }: Receipt): string[][] {
  return [
    ["dog", dog],
    ["verdict", `${verdict}: ${plain(why)}`],
    ["ended", ended_at],
    ...(reaped.length === 0 ? [] : [["given back", plain(reaped.join(", "))]]),
  ];
}

const warrantWithdrawCommand: Command = {
  op: warrantWithdraw,
  placeholders: { state: "DIR" },
  positionals: [{ key: "id" }],
  examples: [["viv warrant withdraw w1", "stop asking the target"]],
  human: (output: z.output<typeof warrantWithdraw.output>, { color }) => {
    const { id, target, withdrawn, notes } = output;
    const what = withdrawn ? `withdrawn ${plain(id)}` : `the dog of ${plain(id)} is called off`;
    return [`${what} (${plain(target)})`, ...notes.map((note) => color.yellow(note))].join("\n");
  },
};

const epitaphCommand: Command = {
  op: epitaph,
  placeholders: { state: "DIR" },
  positionals: [{ key: "id" }],
  examples: [
    ["viv epitaph w1", "how it ended, as Markdown"],
    ["viv epitaph w1 --json | jq .exit", "the receipt"],
  ],
  human: ({ text }: { text: string }) => plain(text),
  json: ({ receipt }: { receipt: unknown }) => JSON.stringify(receipt),
};

export const commands = {
  "warrant file": warrantFileCommand,
  "warrant ls": warrantLsCommand,
  "warrant show": warrantShowCommand,
  "warrant withdraw": warrantWithdrawCommand,
  epitaph: epitaphCommand,
} satisfies Record<string, Command>;
