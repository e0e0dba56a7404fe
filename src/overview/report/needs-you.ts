import { formatCount } from "../../base/amount.ts";
import { idWord } from "../../base/names.ts";
import { counted, quoted } from "../../base/text.ts";
import { type AccountState, describeAccount } from "../../engines/accounts/account.ts";
import type { Landing } from "../../merge/landing.ts";
import type { Counts, Pause } from "../../queue/store.ts";
import type { Dependents } from "./dependents.ts";
import type { FailureGroup } from "./failures.ts";
import type { CrewFacts, ParkedAgent, WardenFacts } from "./report-port.ts";
import { NEEDS, type Need } from "./report-shape.ts";

export interface ReviewFact {
  id: string;
  title: string;
  /** Why it is not proven; null: it is. */
  unproven: string | null;
  since: string;
}

/** Everything that may need a person, as it is now. */
export interface NeedFacts {
  now: number;
  counts: Counts;
  /** ` --run DIR` for commands, or nothing where they mean this run anyway. */
  runWords: string;
  /** Those that most tasks wait for, then the oldest. */
  reviews: readonly ReviewFact[];
  /** In review as well, and not looked at. */
  otherReviews: readonly string[];
  reviewLimit: number | undefined;
  failures: readonly FailureGroup[];
  /** Failures from before the period. */
  olderFailures: readonly string[];
  dependents: Dependents;
  /** Cancelled by a person. */
  cancelled: readonly { id: string; since: string }[];
  /** Some tasks wait for these, and they were never enqueued. */
  notEnqueued: readonly string[];
  landings: readonly Landing[];
  unreadableLandings: readonly string[];
  accounts: readonly AccountState[];
  crew: CrewFacts | null;
  parkedAgents: readonly ParkedAgent[];
  warden: WardenFacts | null;
  /** In words, when a budget of the run or the day is used up. */
  budget: string | null;
  quarantine: string;
  hasWorker: boolean;
  /** What workers say of their viv.toml: a bad edit, routes that would fail every task. */
  remarks: readonly { workers: readonly string[]; text: string }[];
  failedSchedules: readonly { name: string; note: string }[];
  /** What to type so that a worker takes what is pending. */
  workCommand: string;
  /** Lines of the ledger that cannot be read. */
  damagedLines: number;
  paused: Pause | null;
  pausedWorkers: readonly { name: string; paused: Pause }[];
  /** Types that are not claimed because of their workspaces. */
  setups: readonly { type: string; text: string; command: string }[];
}

/** How many entries of a kind have a line of their own; the rest is one. */
const MOST = 50;
/** So many tasks of an entry are named. */
const MOST_TASKS = 20;

/** What needs a person, each with one command; by kind, and within a kind by what they block. */
export function needsYou(facts: NeedFacts): Need[] {
  const all = [
    ...reviewNeeds(facts),
    ...failureNeeds(facts),
    ...stuckNeeds(facts),
    ...mergeNeeds(facts),
    ...accountNeeds(facts),
    ...crewNeeds(facts),
    ...otherNeeds(facts),
  ];
  return all.sort((a, b) => NEEDS.indexOf(a.kind) - NEEDS.indexOf(b.kind));
}

/** What most tasks wait for comes first; then as they were. */
function byBlocks<T extends { blocks: number }>(all: readonly T[]): T[] {
  return [...all].sort((a, b) => b.blocks - a.blocks);
}

function need(kind: Need["kind"], text: string, more: Partial<Omit<Need, "kind" | "text">>): Need {
  const nothing = { subject: "", command: null, count: 1, tasks: [], blocks: 0, since: null };
  return { kind, text, ...nothing, ...more };
}

function reviewNeeds(facts: NeedFacts): Need[] {
  const { reviews, otherReviews, counts, reviewLimit, runWords, dependents } = facts;
  const needs = reviews.map(({ id, title, unproven, since }) => {
    const what = unproven === null ? "proven" : `not proven: ${unproven}`;
    // What is not proven is looked at before it is approved.
    const verb = unproven === null ? "approve" : "show";
    const text = title === "" ? what : `${what}; ${title}`;
    return need("review", text, {
      ...{ subject: id, tasks: [id], command: `viv ${verb} ${idWord(id)}${runWords}` },
      ...{ since, blocks: dependents.waitingFor([id]) },
    });
  });
  const list = `viv ls --state review${runWords}`;
  const more = otherReviews.length;
  if (more > 0) {
    const text = `${counted(more, "more task", formatCount)} in review`;
    const blocks = dependents.waitingFor(otherReviews);
    needs.push(need("review", text, { count: more, command: list, blocks }));
  }
  if (reviewLimit !== undefined && counts.review >= reviewLimit) {
    const text = `with ${reviewLimit} in review, nothing more is claimed`;
    needs.push(need("review", text, { count: counts.review, command: list }));
  }
  return needs;
}

function failureNeeds({ failures, olderFailures, runWords, dependents }: NeedFacts): Need[] {
  const groups = byBlocks(
    failures.map((group) => ({ ...group, blocks: dependents.waitingFor(group.tasks) })),
  );
  const needs = groups.slice(0, MOST).map(({ kind, reason, tasks, at, blocks }) => {
    const [id = ""] = tasks;
    const count = tasks.length;
    const text = count === 1 ? reason : `${formatCount(count)} × ${reason}`;
    return need(kind, text, {
      ...{ subject: count === 1 ? id : "", command: `viv why ${idWord(id)}${runWords}`, count },
      ...{ tasks: tasks.slice(0, MOST_TASKS), blocks, since: at },
    });
  });
  const command = `viv ls --state failed${runWords}`;
  const rest = (tasks: readonly string[], words: string) => {
    const count = tasks.length;
    if (count === 0) return;
    const text = `${counted(count, "task", formatCount)} ${words}`;
    needs.push(need("failed", text, { count, command, blocks: dependents.waitingFor(tasks) }));
  };
  const others = groups.slice(MOST).flatMap(({ tasks }) => tasks);
  rest(others, "for other reasons");
  rest(olderFailures, "failed before this period");
  return needs;
}

/** What tasks wait for, and nothing brings. */
function stuckNeeds({ cancelled, notEnqueued, runWords, dependents }: NeedFacts): Need[] {
  const all = [
    ...cancelled.map(({ id, since }) => {
      const command = `viv retry ${idWord(id)}${runWords}`;
      return need("stuck", "cancelled", { subject: id, tasks: [id], command, since });
    }),
    ...notEnqueued.map((id) => {
      const waiting = dependents.oneThatNeeds(id) ?? "";
      const command = `viv why ${idWord(waiting)}${runWords}`;
      return need("stuck", "not enqueued", { subject: id, tasks: [waiting], command });
    }),
  ];
  const needs = byBlocks(
    all
      .map((one) => ({ ...one, blocks: dependents.waitingFor([one.subject]) }))
      .filter(({ blocks }) => blocks > 0),
  );
  const others = needs.slice(MOST).map(({ subject }) => subject);
  if (others.length === 0) return needs;
  const text = `${counted(others.length, "other task", formatCount)}, cancelled or not enqueued`;
  const more = { count: others.length, command: `viv ls --state waiting${runWords}` };
  const rest = need("stuck", text, { ...more, blocks: dependents.waitingFor(others) });
  return [...needs.slice(0, MOST), rest];
}

/** States of a landing in which nothing goes on by itself. */
const STUCK: Partial<Record<Landing["state"], string>> = {
  needs_you: "sent back as often as allowed",
  held: "held",
  conflict: "conflict",
  red: "the proof of the merge failed",
};

function isStuck({ state }: Landing): boolean {
  return state in STUCK;
}

function mergeNeeds(facts: NeedFacts): Need[] {
  const { landings, unreadableLandings, runWords, dependents } = facts;
  const stuck = landings.filter(isStuck).map((landing) => {
    const { task, state, reason, target, files = [] } = landing;
    const where = files.length > 0 ? ` (${files.join(", ")})` : "";
    const says = reason ?? `${STUCK[state]}${where}`;
    const text = says.includes(target) ? says : `not in ${target}: ${says}`;
    const verb = state === "needs_you" ? "merge --continue" : "merge";
    const command = landing.command ?? `viv ${verb} ${idWord(task)}`;
    const isOurs = command.startsWith("viv ");
    return need("merge", text, {
      ...{ subject: task, tasks: [task], command: isOurs ? `${command}${runWords}` : command },
      ...{ since: landing.at, blocks: dependents.waitingFor([task]) },
    });
  });
  const bad = unreadableLandings.map((text) => need("merge", text, {}));
  return [...byBlocks(stuck), ...bad];
}

/** A parked one waits for a person; a closed one opens by itself. */
function accountNeeds({ accounts, now }: NeedFacts): Need[] {
  return accounts
    .filter(({ state }) => state !== "open")
    .map((account) => {
      const name = account.account;
      const isParked = account.state === "parked";
      const todo = isParked && account.todo !== "" ? `; ${account.todo}` : "";
      const command = isParked ? `viv accounts open ${name}` : "viv accounts";
      const text = `${describeAccount(account, now)}${todo}`;
      return need("account", text, { subject: name, command, since: account.since });
    });
}

function crewNeeds({ crew, parkedAgents, warden }: NeedFacts): Need[] {
  const members = (crew?.members ?? []).filter(({ isParked }) => isParked);
  const parked = (note: string) => (note === "" ? "parked" : `parked: ${note}`);
  const needs = [
    ...members.map(({ name, note }) => {
      const command = `viv crew resume ${quoted(name)}`;
      return need("crew", parked(note), { subject: name, command });
    }),
    ...parkedAgents.map(({ name, note, command }) =>
      need("agent", parked(note), { subject: name, command }),
    ),
  ];
  if (warden === null) return needs;
  const { paused, held } = warden;
  const wait = held.length > 0 ? `; held back: ${held.join(", ")}` : "";
  const isPaused = paused !== null;
  const pause = need("warden", `paused: ${paused}${wait}`, { command: "viv warden resume" });
  return isPaused ? [...needs, pause] : needs;
}

function otherNeeds(facts: NeedFacts): Need[] {
  const { counts, runWords, budget, quarantine, hasWorker, workCommand, damagedLines } = facts;
  const needs = facts.setups.map(({ type, text, command }) =>
    need("setup", text, { subject: type, command: `${command}${runWords}` }),
  );
  for (const { workers, text } of facts.remarks) {
    const [subject = ""] = workers.length === 1 ? workers : [];
    needs.push(
      need("config", text, { subject, command: "viv config check", count: workers.length }),
    );
  }
  for (const { name, note } of facts.failedSchedules) {
    const command = `viv schedule ls${runWords}`;
    needs.push(need("schedule", `could not fire: ${note}`, { subject: name, command }));
  }
  if (facts.paused !== null) {
    const { by, note } = facts.paused;
    const text = `by ${by}${note ? `: ${note}` : ""}; nothing is claimed`;
    needs.push(need("paused", text, { command: `viv resume${runWords}`, since: facts.paused.at }));
  }
  for (const { name, paused } of facts.pausedWorkers) {
    const { by, note, at: since } = paused;
    const text = `by ${by}${note ? `: ${note}` : ""}; it claims nothing`;
    const command = `viv resume --worker ${quoted(name)}${runWords}`;
    needs.push(need("paused", text, { subject: name, command, since }));
  }
  if (budget !== null) {
    const text = `${budget}; raise it in viv.toml, or wait`;
    needs.push(need("budget", text, { command: `viv costs${runWords}` }));
  }
  if (counts.quarantined > 0) {
    const text = `${counted(counts.quarantined, "unusable file", formatCount)} set aside`;
    const command = `cat ${quoted(quarantine)}/*.reason`;
    needs.push(need("quarantine", text, { count: counts.quarantined, command }));
  }
  if (counts.pending > 0 && !hasWorker) {
    const are = counts.pending === 1 ? "is" : "are";
    const text = `no worker runs, and ${counted(counts.pending, "task", formatCount)} ${are} pending`;
    const command = `${workCommand}${runWords}`;
    needs.push(need("workers", text, { count: counts.pending, command }));
  }
  if (damagedLines > 0) {
    const text = `${counted(damagedLines, "line", formatCount)} cannot be read; the numbers lack them`;
    const command = `viv doctor${runWords}`;
    needs.push(need("ledger", text, { count: damagedLines, command }));
  }
  return needs;
}
