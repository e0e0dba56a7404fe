import { VivError } from "../base/errors.ts";
import { counted, quoted } from "../base/text.ts";
import { type Command, UNTIL_STDIN_CLOSES } from "../operation/command.ts";
import type { Io } from "../operation/io.ts";
import type { Stamped } from "../operation/operation.ts";
import { Progress } from "../operation/progress.ts";
import { plain, prose, type Term, table } from "../operation/term.ts";
import { type FollowEvent, mergeFollow } from "./follow.ts";
import type { LandingState } from "./landing.ts";
import { type MergeOutput, type MergeProgress, merge, type Row } from "./operations.ts";

const WORDS: Record<LandingState, string> = {
  queued: "queued",
  merging: "merging",
  proving: "proving",
  landing: "landing",
  landed: "landed",
  no_changes: "no changes",
  conflict: "conflict",
  red: "red",
  reworked: "sent back",
  needs_you: "needs you",
  held: "held",
  pull_request: "pull request",
  closed: "closed",
};

function wordOf({ landing, reason }: Row, isPlan: boolean): string {
  return isPlan && landing === "queued" && reason === undefined ? "would land" : WORDS[landing];
}

function painted(row: Row, isPlan: boolean, { color }: Term): string {
  const { landing } = row;
  const word = wordOf(row, isPlan);
  if (landing === "landed" || word === "would land") return color.green(word);
  if (["conflict", "red", "needs_you"].includes(landing)) return color.red(word);
  if (["reworked", "held"].includes(landing)) return color.yellow(word);
  return color.dim(word);
}

function told({ landing, target, commit, reason }: Row): string {
  if (landing === "landed" && commit !== undefined) {
    const how = reason === undefined ? "" : `, ${reason}`;
    return `in ${target} (${commit.slice(0, 10)})${how}`;
  }
  return reason ?? (landing === "queued" && target ? `into ${target}` : "");
}

function human(output: MergeOutput, term: Term): string {
  const { landings, landed_before, action } = output;
  if (landings.length === 0) return nothing(landed_before, term);
  const rows = landings.map((one) => [
    painted(one, action === "plan", term),
    one.id,
    prose(plain(told(one))),
  ]);
  const parts = [table(rows, term), commandsOf(landings), summary(output, term)];
  return parts.filter((part) => part !== "").join("\n");
}

function nothing(before: number, { color }: Term): string {
  if (before > 0) return color.dim(`nothing to land (${before} landed before)`);
  return color.dim("nothing to land: no done task has a branch");
}

/** Each once: one command may be for several tasks, and a later one may include an earlier. */
function commandsOf(landings: readonly Row[]): string {
  const last = new Map<string, string>();
  for (const { command, reason = "" } of landings) if (command) last.set(reason, command);
  const lines = [...last].map(([, command]) => `  ${plain(command)}`);
  return lines.length === 0 ? "" : ["to go on:", ...new Set(lines)].join("\n");
}

function summary({ landings, landed_before, action }: MergeOutput, { color }: Term): string {
  const counts = new Map<string, number>();
  for (const one of landings) {
    const word = wordOf(one, action === "plan");
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  if (landed_before > 0) counts.set("landed before", landed_before);
  const numbers = [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
  const next = [...takeOver(landings, action === "plan"), ...reworkSteps(landings)];
  return [color.dim(numbers), ...next].join("\n");
}

function reworkSteps(landings: readonly Row[]): string[] {
  // One that is done again and waits for its review needs no worker.
  const reworked = landings.filter(({ landing }) => landing === "reworked");
  const count = reworked.filter(({ state }) => state === "pending").length;
  return count === 0 ? [] : [`do ${counted(count, "task")} again with: viv work --drain`];
}

function takeOver(landings: readonly Row[], isPlan: boolean): string[] {
  const landed = landings.find(
    ({ landing, target }) => landing === "landed" && target?.startsWith("viv/"),
  );
  if (landed !== undefined) {
    const { repository, target = "" } = landed;
    return [`take it over with: git -C ${quoted(plain(repository))} merge ${plain(target)}`];
  }
  const isWaiting = !isPlan && landings.every(({ landing }) => landing === "queued");
  return isWaiting ? [`land ${counted(landings.length, "task")} with: viv merge --all`] : [];
}

/** Until it has one of these, the queue is not through with it. */
const UNDER_WAY: readonly string[] = ["queued", "merging", "proving", "landing"];

/** On a terminal, the last line: how many are through, and what is being proven. */
function mergeProgress(io: Io) {
  const progress = new Progress(io, "through");
  const through = new Set<string>();
  let total = 0;
  let note: string | undefined;
  const event = (one: MergeProgress) => {
    if (one.kind === "begins") total = one.total;
    if (one.kind === "proves") note = `proving ${one.ids.join(", ")}`;
    if (one.kind === "waits") note = `waiting for another queue on ${one.repository}`;
    if (one.kind === "landing") {
      note = undefined;
      if (UNDER_WAY.includes(one.landing)) through.delete(one.id);
      else through.add(one.id);
    }
    // A task may come to the queue meanwhile.
    progress.update({ done: through.size, total: Math.max(total, through.size), note });
  };
  return { event, end: () => progress.end() };
}

const AUTO: Command["flags"] = {
  auto: { kind: "boolean", describe: "land work as it is done, until stopped" },
  ...UNTIL_STDIN_CLOSES,
};

const mergeCommand: Command = {
  op: merge,
  flags: AUTO,
  instead: async (values) => {
    if (!values.auto) return undefined;
    const other = Object.keys(values).find((key) => key in merge.input.shape);
    if (other === undefined) return followCommand;
    throw new VivError("USAGE", "--auto stands alone: it lands every task as it is done.");
  },
  names: { ids: "id" },
  positionals: [{ key: "ids", many: true }],
  placeholders: { into: "BRANCH", continue: "ID" },
  examples: [
    ["viv merge", "how the landings stand"],
    ["viv merge --all", "land every done task: merge, prove, move the branch"],
    ["viv merge t.4 t.9 --into main", "these two, into main"],
    ["viv merge --continue t.4", "its conflict is resolved in its worktree: commit, prove, land"],
    ["viv merge --auto", "land each task as it is done, without a worker"],
    ["viv merge --all --dry-run", "what would land, and what conflicts"],
  ],
  view: (term, io) => {
    const progress = mergeProgress(io);
    return {
      event: (event: MergeProgress) => {
        progress.event(event);
        return null;
      },
      end: (output: MergeOutput) => {
        progress.end();
        return human(output, term);
      },
      close: () => progress.end(),
    };
  },
  jsonView: () => ({
    event: () => null,
    end: ({ warnings: _, ...output }: MergeOutput) => JSON.stringify(output),
  }),
  exit: (output: MergeOutput, io) => {
    if (io.signal.aborted) return 130;
    return output.action !== "merge" || isWell(output) ? 0 : 1;
  },
};

/** `viv merge --auto`. */
const followCommand: Command = {
  op: mergeFollow,
  flags: AUTO,
  examples: [],
  view: ({ color }) => ({
    event: (event: Stamped<FollowEvent>) => {
      const time = color.dim(event.at.slice(11, 19));
      if (event.kind === "trouble") return `${time} ${color.red(plain(event.message))}`;
      if (event.kind === "follows") return `${time} lands work as it is done`;
      const note = event.note === undefined ? "" : `: ${event.note}`;
      return `${time} ${event.id} ${plain(WORDS[event.landing as LandingState] + note)}`;
    },
  }),
};

/** All that was asked for has landed, or nothing was asked for. */
function isWell({ landings }: MergeOutput): boolean {
  return landings.every(({ landing }) => ["landed", "no_changes", "queued"].includes(landing));
}

export const commands = { merge: mergeCommand } satisfies Record<string, Command>;
