import type { Need } from "../../../../src/overview/report/report-shape.ts";
import { counted } from "../../parts/format.ts";
import type { Tone } from "../../parts/glyph.tsx";
import { act, copy } from "../../shell/act.ts";
import { go, routeHref, showTask } from "../../shell/router.ts";

/** One row of what needs a person: what it is, and its one action. */
export interface NeedRow {
  key: string;
  tone: Tone;
  kind: string;
  /** A task, account or member; a task's is a link. */
  subject: string;
  isTask: boolean;
  text: string;
  /** The second line. */
  detail: string;
  since: string | null;
  action: string;
  command: string | null;
  run: () => void;
}

const KIND: Record<Need["kind"], [string, Tone]> = {
  review: ["Review", "review"],
  choked: ["Choke", "failed"],
  failed: ["Failed", "failed"],
  stuck: ["Stuck", "failed"],
  merge: ["Merge", "review"],
  setup: ["Set-up", "review"],
  config: ["viv.toml", "review"],
  paused: ["Paused", "review"],
  account: ["Account", "review"],
  crew: ["Crew", "review"],
  agent: ["Agent", "review"],
  budget: ["Budget", "review"],
  warden: ["Warden", "review"],
  quarantine: ["Quarantine", "failed"],
  workers: ["Workers", "review"],
  ledger: ["Ledger", "failed"],
  schedule: ["Schedule", "review"],
};

/** Of a kind, so many have a row of their own; the rest is one. */
const MOST_OF_KIND = 3;

export function needRows(needs: readonly Need[]): NeedRow[] {
  const seen = new Map<string, number>();
  const rows: NeedRow[] = [];
  const hidden = new Map<Need["kind"], number>();
  for (const need of needs) {
    const n = (seen.get(need.kind) ?? 0) + 1;
    seen.set(need.kind, n);
    if (n <= MOST_OF_KIND) rows.push(rowOf(need));
    else hidden.set(need.kind, (hidden.get(need.kind) ?? 0) + 1);
  }
  for (const [kind, count] of hidden) {
    const after = rows.findLastIndex((row) => row.key.startsWith(`${kind} `));
    rows.splice(after + 1, 0, moreRow(kind, count));
  }
  return rows;
}

function rowOf(need: Need): NeedRow {
  const { kind, subject, text, command, since, tasks } = need;
  const [label, tone] = KIND[kind];
  const isTask = subject !== "" && tasks.includes(subject);
  const [said, detail] = wordsOf(need);
  return {
    ...{ key: `${kind} ${subject} ${text}`, tone, kind: label, subject, isTask, since, command },
    ...{ text: said, detail: detail || (command ?? "") },
    ...actionOf(need),
  };
}

/** The sentence, and what else is known: of a review the title says more than that it is proven. */
function wordsOf({ kind, text, subject, blocks }: Need): [string, string] {
  const waiting = blocks > 0 ? `${counted(blocks, "task waits", "tasks wait")} for it` : "";
  if (kind === "review" && subject !== "") {
    const [, fact = "", title = ""] = /^(proven|not proven: .*?); (.+)$/s.exec(text) ?? [];
    if (title !== "") return [title, waiting ? `${fact}; ${waiting}` : fact];
  }
  // The subject stands before it already.
  const isSaid = subject !== "" && text.startsWith(`${subject} `);
  return [isSaid ? text.slice(subject.length + 1) : text, waiting];
}

function moreRow(kind: Need["kind"], count: number): NeedRow {
  const [label, tone] = KIND[kind];
  const column =
    kind === "review" ? "review" : kind === "failed" || kind === "choked" ? "failed" : null;
  const command = `viv report`;
  return {
    ...{ key: `${kind} more`, tone, kind: label, subject: "", isTask: false, since: null },
    ...{ text: `${count} more of this kind`, detail: command, command },
    ...(column
      ? { action: "Open the board", run: () => go(routeHref("board", { col: column })) }
      : { action: "Copy command", run: () => void copy(command) }),
  };
}

/** What a press does: what the command would do, or the place where a person decides. */
function actionOf(need: Need): Pick<NeedRow, "action" | "run"> {
  const { kind, subject, command, tasks } = need;
  const [task] = tasks;
  const does = (label: string, operation: string, input: object, said: string) => ({
    action: label,
    run: () => void act(operation, input, { said, command: command ?? undefined }),
  });
  if (kind === "paused") {
    const input = subject === "" ? {} : { worker: subject };
    return does("Resume", "resume", input, `${subject || "The run"} goes on.`);
  }
  if (kind === "warden") return does("Resume the pool", "warden resume", {}, "The pool goes on.");
  if (kind === "crew" && subject !== "") {
    return does("Resume", "crew resume", { name: subject }, `${subject} goes on.`);
  }
  if (kind === "account" && command?.startsWith("viv accounts open ")) {
    const input = { action: "open", name: subject };
    return does("Open account", "accounts", input, `${subject} is open.`);
  }
  if (kind === "budget") return { action: "See the costs", run: () => go(routeHref("money")) };
  if (kind === "schedule") return { action: "See schedules", run: () => go(routeHref("fleet")) };
  if (kind === "review" && task === undefined) {
    return { action: "Open the board", run: () => go(routeHref("board", { col: "review" })) };
  }
  if (task !== undefined) {
    const action = kind === "review" ? "Review" : kind === "merge" ? "Open" : "See why";
    return { action, run: () => showTask(task) };
  }
  return { action: "Copy command", run: () => void copy(command ?? "viv report") };
}
