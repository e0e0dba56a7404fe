import type { Command } from "../../operation/command.ts";
import { plain, table } from "../../operation/term.ts";
import type { Dance, Receipt } from "../dance.ts";
import { warrantShow } from "../operations/warrants.ts";
import type { Warrant } from "../warrant.ts";

interface Output {
  id: string;
  state: string;
  warrant: Warrant;
  dance?: Dance;
  receipt?: Receipt;
}

export const command: Command = {
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
