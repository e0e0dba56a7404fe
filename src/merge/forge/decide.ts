import { counted, listed } from "../../base/text.ts";
import type { LandingState } from "../landing.ts";
import type { SentBack } from "../send-back.ts";
import type { Comment, PullRequestView } from "./forge.ts";
import { cleaned } from "./text.ts";

/** What is known of a task and its pull request when they are compared. */
export interface Known {
  view: PullRequestView;
  landing: LandingState;
  isDone: boolean;
  /** The commit that its branch ends at here; null when the branch is gone. */
  head: string | null;
  /** Commits that were pushed, or were about to be. */
  pushed: readonly string[];
  /** Ids that the task went back with before. */
  sent: readonly string[];
}

/** What follows from it. `ids` are those that must not be sent again. */
export type Step =
  | { do: "land"; reason?: string }
  | { do: "close" }
  | { do: "push" }
  | { do: "note" }
  | ({ do: "send"; ids: string[] } & Pick<SentBack, "why" | "reason" | "evidence">)
  | { do: "hold"; reason: string }
  | { do: "nothing"; reason: string };

const nothing = (reason: string): Step => ({ do: "nothing", reason });

/** Pure: the same facts have the same answer, and each answer changes the facts that led to it. */
export function decide(known: Known): Step {
  const { view, landing, isDone, head, pushed } = known;
  if (landing === "landed") return nothing("it has landed");
  if (view.state === "merged") {
    const isLate = head !== null && head !== view.head;
    const reason = "its branch has commits that came after the merge";
    return isLate ? { do: "land", reason } : { do: "land" };
  }
  if (view.state === "closed") {
    return landing === "closed" ? nothing("it is closed") : { do: "close" };
  }
  if (landing === "needs_you") return nothing("it waits for you");
  if (!isDone) return nothing("its task is at work again");
  if (head !== null && view.head !== head) {
    // New commits here, or a push that was cut short.
    if (!pushed.includes(head) || pushed.includes(view.head)) return { do: "push" };
    const there = view.head.slice(0, 12);
    return { do: "hold", reason: `others have pushed to its branch (${there})` };
  }
  if (landing !== "pull_request") return { do: "note" };
  return reviewed(known);
}

function reviewed({ view, sent }: Known): Step {
  const isNew = (id: string) => !sent.includes(id);
  const conflict = `conflict ${view.head}`;
  const hasConflict = view.hasConflict && isNew(conflict);
  const failed = view.checks.filter(({ state }) => state === "failed");
  const isRunning = view.checks.some(({ state }) => state === "running");
  const red = `checks ${view.head}`;
  // All of them at once: each way back is one of few.
  const isRed = failed.length > 0 && !isRunning && isNew(red);
  const comments = view.comments.filter(({ isTrusted, id }) => isTrusted && isNew(id));
  const asking = comments.filter(({ asks }) => asks);
  if (!hasConflict && !isRed && asking.length === 0) return nothing(situation(view));
  const reasons = [
    hasConflict && `it conflicts with ${view.base}`,
    isRed &&
      `${listed(
        "check",
        failed.map(({ name }) => cleaned(name)),
      )} failed`,
    asking.length > 0 && `${counted(asking.length, "comment")} asked for changes`,
  ].filter((one) => one !== false);
  const ids = [
    ...(hasConflict ? [conflict] : []),
    ...(isRed ? [red] : []),
    ...comments.map(({ id }) => id),
  ];
  const why = hasConflict ? "conflict" : isRed ? "red" : "review";
  const reason = `pull request ${view.number}: ${reasons.join("; ")}`;
  const parts = { failed: isRed ? failed : [], comments, reasons };
  return { do: "send", why, reason, ids, evidence: evidenceOf(view, parts) };
}

function situation({ checks, comments }: PullRequestView): string {
  const count = (state: string) => checks.filter((one) => one.state === state).length;
  const others = comments.filter(({ isTrusted }) => !isTrusted).length;
  const parts = [
    count("failed") > 0 && `${counted(count("failed"), "check")} failed`,
    count("running") > 0 && `${counted(count("running"), "check")} running`,
    others > 0 && `${counted(others, "comment")} of people without write access left out`,
  ].filter((part) => part !== false);
  return parts.length > 0 ? `it is open: ${parts.join(", ")}` : "it is open";
}

interface Parts {
  failed: PullRequestView["checks"];
  comments: readonly Comment[];
  reasons: readonly string[];
}

/** For the handler: what is asked of it, in Markdown. */
function evidenceOf({ url }: PullRequestView, { failed, comments, reasons }: Parts): string {
  const parts = [`The pull request ${url} was sent back: ${reasons.join("; ")}.`];
  if (failed.length > 0) {
    const lines = failed.map(({ name, url: at }) => `- ${cleaned(name)}${at ? `: ${at}` : ""}`);
    parts.push(`## Checks that failed\n\n${lines.join("\n")}`);
  }
  for (const { author, path, line, body, url: at } of comments) {
    const where = path === undefined ? "" : ` on ${path}${line === undefined ? "" : `:${line}`}`;
    const quote = cleaned(body).replace(/^/gm, "> ");
    parts.push(`## ${cleaned(author)}${cleaned(where)}\n\n${quote}${at ? `\n\n${at}` : ""}`);
  }
  return `${parts.join("\n\n")}\n`;
}
