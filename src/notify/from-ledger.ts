import type { LedgerLine } from "../queue/ledger.ts";
import { type News, type NotifyEvent, newsOf } from "./news.ts";

/** The news in new lines of a ledger. An end that had no effect is none. */
export function newsFromLedger(lines: readonly LedgerLine[]): News[] {
  const voided = new Set(lines.flatMap((one) => (one.event === "void" ? [keyOf(one)] : [])));
  return lines.flatMap((line) => {
    if (line.event === "ended" && voided.has(keyOf(line))) return [];
    const news = newsIn(line);
    return news === null ? [] : [newsOf(news)];
  });
}

function keyOf({ task, token }: LedgerLine): string {
  return `${task} ${token}`;
}

/** Ledger events that are news by themselves, and what is said of them. */
const MERGE_NEWS: Partial<Record<string, (line: LedgerLine) => Pick<News, "text" | "todo">>> = {
  landed: ({ task, commit, target }) => {
    const as = typeof commit === "string" ? ` as ${commit.slice(0, 10)}` : "";
    return { text: `${task} landed in ${target ?? "its target"}${as}` };
  },
  // The queue's own sentence names the target, and the files or the proof.
  conflict: ({ task, note }) => ({ text: `${task}${because(note)}`, todo: `viv why ${task}` }),
  merge_red: ({ task, note }) => ({ text: `${task}${because(note)}`, todo: `viv why ${task}` }),
  reworked: ({ task, note }) => ({
    text: `${task} went back for rework${because(note)}`,
    todo: `viv why ${task}`,
  }),
  held: ({ task, note }) => ({
    text: `${task} cannot land now${because(note)}`,
    todo: `viv why ${task}`,
  }),
  needs_you: ({ task, note }) => ({
    text: `${task} needs you${because(note)}`,
    todo: `viv why ${task}`,
  }),
  pr_opened: ({ task, url }) => ({ text: `${task} has a pull request${because(url)}` }),
  pr_closed: ({ task, url }) => ({
    text: `the pull request of ${task} was closed without a merge${because(url)}`,
    todo: `viv show ${task}`,
  }),
};

function because(why: unknown): string {
  return typeof why === "string" && why !== "" ? `: ${why}` : "";
}

function newsIn(line: LedgerLine): News | null {
  const { event, at, task, type } = line;
  if (line.room === "fleet") return scheduleNews(line);
  if (task === undefined) return null;
  const about = { at, subject: task, type };
  if (event === "ended") return newsOfEnd(line, about);
  if (event === "approved") {
    return { ...about, fact: `done ${task} ${at}`, event: "done", text: `${task} was approved` };
  }
  if (event === "step") {
    const { kind, text } = line;
    return kind === "notice" && typeof text === "string" ? budgetNews(text, at) : null;
  }
  const ofMerge = Object.hasOwn(MERGE_NEWS, event) ? MERGE_NEWS[event] : undefined;
  if (ofMerge === undefined) return null;
  // A file of the merge may name the commit: its line is written again after a crash.
  const which = line.commit ?? line.url ?? at;
  const fact = `${event} ${task} ${String(which)}`;
  return { ...about, fact, event: event as unknown as NotifyEvent, ...ofMerge(line) };
}

function scheduleNews({ event, schedule, note, at }: LedgerLine): News | null {
  if (String(event) !== "schedule_failed") return null;
  const name = String(schedule);
  const text = `schedule ${name} could not fire${because(note)}`;
  const fact = `schedule_failed ${name} ${at}`;
  return { fact, event: "schedule_failed", at, subject: name, text, todo: "viv schedule ls" };
}

/** How the note of a choke begins: see describeChoke. */
const CHOKED = "choked: ";

function newsOfEnd(
  { task = "", token, to, outcome, note, attempt, at }: LedgerLine,
  about: Pick<News, "at" | "subject" | "type">,
): News | null {
  const fact = (event: string) => `${event} ${task} ${token ?? at}`;
  const isChoke = note?.startsWith(CHOKED) === true && outcome !== "done";
  if (to === "failed") {
    const tries = attempt === undefined ? "" : ` at attempt ${attempt}`;
    return {
      ...{ ...about, fact: fact("failed"), event: "failed", also: isChoke ? ["choked"] : [] },
      ...{ text: `${task} failed${tries}${because(note ?? outcome)}`, todo: `viv why ${task}` },
    };
  }
  if (isChoke) {
    const text = `${task} ${note}`;
    return { ...about, fact: fact("choked"), event: "choked", text, todo: `viv why ${task}` };
  }
  if (to === "review") {
    const text = `${task} waits for your review`;
    return { ...about, fact: fact("review"), event: "review", text, todo: `viv show ${task}` };
  }
  if (to !== "done") return null;
  return { ...about, fact: fact("done"), event: "done", text: `${task} is done` };
}

/** The budget's own notices: see textOf in budget.ts. */
const WARNING = /^\d+ % of the budget of this (run|day) are used: .*? of (.+?)(?:, |$)/;
const USED_UP = /^the budget of this (run|day) is used up(?:: .*? of (.+?)(?:, |$))?/;

/** Once for each budget and day; for another limit again. Null for another text. */
export function budgetNews(text: string, at: string): News | null {
  const warning = WARNING.exec(text);
  const match = warning ?? USED_UP.exec(text);
  if (match === null) return null;
  const event = warning ? "budget_80" : "budget_used";
  const fact = `${event} ${match[1]} ${match[2] ?? ""} ${at.slice(0, 10)}`;
  return { fact, event, at, subject: match[1], text, todo: "viv costs" };
}
