import { type AccountState, describeAccount } from "../engines/accounts/account.ts";
import { type News, newsOf } from "../notify/news.ts";

/** News of rooms that have no ledger. */

/** Once for a row of closings: an account that closes again and again is one fact. */
export function accountNews(account: AccountState): News[] {
  const { account: name, state, since, failures } = account;
  if (state === "open" || (state === "closed" && failures > 1)) return [];
  const text = `account ${name} ${describeAccount(account, Date.parse(since))}`;
  const fact = `account_closed ${name} ${state} ${since}`;
  const todo = `viv accounts open ${name}`;
  return [newsOf({ fact, event: "account_closed", at: since, subject: name, text, todo })];
}

/** Once for a reason and a day: a crew that is started again parks the member again. */
export function parkedNews({ name, note }: { name: string; note: string }, at: string): News {
  const fact = `parked ${name} ${note} ${at.slice(0, 10)}`;
  const text = `${name} is parked: ${note}`;
  return newsOf({
    fact,
    event: "parked",
    at,
    subject: name,
    text,
    todo: `viv crew resume ${name}`,
  });
}

export function memberBudgetNews({ name, note }: { name: string; note: string }, at: string): News {
  const fact = `budget_used ${name} ${at.slice(0, 10)}`;
  return newsOf({ fact, event: "budget_used", at, subject: name, text: `${name}: ${note}` });
}

export function executedNews(receipt: {
  dog: string;
  ended_at: string;
  why: string;
  warrant: { id: string; target: string };
}): News {
  const { dog, ended_at: at, why, warrant } = receipt;
  const text = `the warden ended ${warrant.target}: ${why}`;
  const todo = `viv epitaph ${warrant.id}`;
  return newsOf({
    fact: `executed ${dog}`,
    event: "executed",
    at,
    subject: warrant.target,
    text,
    todo,
  });
}
