import { byDefault, type Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";

import { type AccountState, describeUntil, whyClosed } from "../accounts/account.ts";
import { accounts } from "../operations/accounts.ts";

export const command: Command = {
  op: accounts,
  positionals: [{ key: "action" }, { key: "name" }],
  defaults: byDefault,
  examples: [
    ["viv accounts", "which are closed, until when and why"],
    ["viv accounts open anthropic-main", "after logging in, or paying"],
    ['viv accounts close anthropic-main --for 2h --note "for myself"', "no worker uses it"],
  ],
  human: (output: { accounts: AccountState[] }, term, io) => {
    if (output.accounts.length === 0) return term.color.dim("no accounts");
    const rows = output.accounts.map((one) => row(one, term, io.now()));
    const todos = output.accounts.flatMap((one) => todoLines(one, term));
    return [table(rows, term), ...todos].join("\n");
  },
};

function row(account: AccountState, { color }: Term, now: number): string[] {
  switch (account.state) {
    case "open": {
      const again = account.failures > 0 ? "is tried again after a limit" : "";
      return [account.account, color.green("open"), again];
    }
    case "closed": {
      const until = `until ${describeUntil(account.until, now)}`;
      return [account.account, color.yellow("closed"), until, reasonOf(account)];
    }
    case "parked":
      return [account.account, color.red("parked"), "until you open it", reasonOf(account)];
  }
}

/** Here there is room for what the vendor said. */
function reasonOf(account: Exclude<AccountState, { state: "open" }>): string {
  const { message, reason } = account;
  return plain(message !== "" && reason !== "by_hand" ? message : whyClosed(account));
}

function todoLines({ account, state, todo, trouble }: AccountState, { color }: Term): string[] {
  if (trouble !== undefined) return [`${color.yellow(account)}: ${plain(trouble)}`];
  if (state !== "parked") return [];
  const first = todo === "" ? [] : [`${account}: ${plain(todo)}, then:`];
  return [...first, `  ${color.cyan(`viv accounts open ${account}`)}`];
}
