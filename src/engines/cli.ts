import type * as z from "zod/mini";
import { formatCount } from "../base/amount.ts";
import { byDefault, type Command } from "../operation/command.ts";
import { type Cell, plain, prose, type Term, table } from "../operation/term.ts";
import { type AccountState, describeUntil, whyClosed } from "./accounts/account.ts";
import { accounts, prices } from "./operations.ts";

const accountsCommand: Command = {
  op: accounts,
  positionals: [{ key: "action" }, { key: "name" }],
  defaults: byDefault,
  examples: [
    ["viv accounts", "all accounts, with the end and reason of each closure"],
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

function row(account: AccountState, { color }: Term, now: number): Cell[] {
  switch (account.state) {
    case "open": {
      const again = account.failures > 0 ? "is tried again after a limit" : "";
      return [account.account, color.green("open"), again];
    }
    case "closed": {
      const until = `until ${describeUntil(account.until, now)}`;
      return [account.account, color.yellow("closed"), until, prose(reasonOf(account))];
    }
    case "parked":
      return [account.account, color.red("parked"), "until you open it", prose(reasonOf(account))];
  }
}

/** The vendor's message, where there is one. */
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

type Output = z.output<typeof prices.output>;

const pricesCommand: Command = {
  op: prices,
  positionals: [{ key: "model" }],
  examples: [
    ["viv prices", "price of each model, with its source"],
    ["viv prices haiku --json", ""],
  ],
  human: ({ prices: rows, as_of, warning }: Output, term) => {
    const { dim, yellow } = term.color;
    const lines = rows.map(({ model, source, long, ...price }) => [
      plain(model),
      ...cells(price),
      long === null
        ? ""
        : dim(`above ${formatCount(long.above)} in: ${cells(long).filter(Boolean).join(" ")}`),
      source === "list" ? "" : source,
    ]);
    const head = ["model", "in", "out", "cached", "to cache", "", ""].map((text) => dim(text));
    const foot = dim(`dollars for a million tokens; the list is of ${as_of}`);
    return [
      rows.length === 0 ? "no such model has a price" : table([head, ...lines], term),
      "",
      foot,
      ...(warning === null ? [] : [yellow(warning)]),
    ].join("\n");
  },
};

function cells(price: Omit<Output["prices"][number], "model" | "source" | "long">): string[] {
  const { input, output, cached_read, cached_write } = price;
  return [input, output, cached_read, cached_write].map((value) =>
    value === null ? "" : `$${Number(value.toPrecision(4))}`,
  );
}

export const commands = {
  accounts: accountsCommand,
  prices: pricesCommand,
} satisfies Record<string, Command>;
