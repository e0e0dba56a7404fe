import type * as z from "zod/mini";
import { formatTook } from "../base/duration.ts";
import { formatSize } from "../base/size.ts";
import { counted } from "../base/text.ts";
import { type Command, UNTIL_STDIN_CLOSES } from "../operation/command.ts";
import type { Io } from "../operation/io.ts";
import type { Context, Stamped } from "../operation/operation.ts";
import { Progress } from "../operation/progress.ts";
import { plain, type Term, table } from "../operation/term.ts";
import { paintState } from "../queue/cli/paint.ts";
import { storePort } from "../queue/operation.ts";
import { DrainProgress } from "./drain-progress.ts";
import { type WorkEvent, type WorkInput, type WorkReport, work } from "./operations/work.ts";
import { workspaces } from "./operations/workspaces.ts";

/** The last line of `viv work --drain` on a terminal: how much of what it takes is done. */
function drainProgress(io: Io, context: Context) {
  const progress = new Progress(io, "ended");
  let drain: DrainProgress | undefined;
  let isLooking = false;
  let isOver = false;
  let restsUntil = 0;
  const look = async () => {
    await drain?.look(await context.use(storePort));
    show();
  };
  const show = () => {
    const progressed = drain?.now();
    if (progressed && !isOver) progress.update(progressed);
  };
  const update = (event: WorkEvent) => {
    progress.aside();
    if (event.kind === "started") drain = new DrainProgress(event.types);
    if (event.kind === "ended") drain?.ended(event.id, event.to);
    setImmediate(show); // below the line of this event, which is not printed yet
    const begin = performance.now();
    if (io.stderr.isTTY !== true || isLooking || begin < restsUntil) return;
    isLooking = true;
    look()
      .catch(() => {}) // The worker itself reports errors.
      .finally(() => {
        // Listing a large run takes a while: a twentieth of the time at most.
        restsUntil = performance.now() + Math.max(100, 20 * (performance.now() - begin));
        isLooking = false;
      });
  };
  const end = () => {
    isOver = true;
    progress.end();
  };
  return { update, end };
}

const workCommand: Command = {
  op: work,
  names: { worker_id: "worker" },
  aliases: { "run-dir": "run", "task-type-filter": "types" },
  flags: UNTIL_STDIN_CLOSES,
  exit: ({ failed = [], left }: WorkReport, _io, input) =>
    (failed.length > 0 || left !== undefined) && !input.exit_zero ? 1 : 0,
  durabilityFor: (input) => input.durability as WorkInput["durability"],
  examples: [
    ["viv work --handler ./handle.sh", "one worker, this executable for every task"],
    ["viv work --concurrency 4 --types audit,synth", "routes from viv.toml"],
    ["viv work --handler ./handle.sh --drain", "until nothing is left to do; 1 if a task failed"],
    ["viv work --once --timeout 30m", "one task, with a limit of 30 minutes"],
  ],
  view: (term, io, context, { drain }) => {
    const progress = drain ? drainProgress(io, context) : null;
    return {
      event: (event: Stamped<WorkEvent>) => {
        if (event.kind === "finished") progress?.end();
        else progress?.update(event);
        return describe(event, term);
      },
      close: () => progress?.end(),
    };
  },
};

function summary(report: WorkReport, term: Term): string {
  const { attempts, done, review, other, failed = [], left } = report;
  const shown = failed.length > MOST_FAILED ? [...failed.slice(0, MOST_FAILED), "…"] : failed;
  const tasks = `${counted(failed.length, "task")} failed: ${shown.join(" ")}`;
  const behind = left && [`${counted(left.tasks, "task")} left behind:`, ...left.reasons];
  const lost = [...(failed.length > 0 ? [tasks] : []), ...(behind ? [behind.join("\n  ")] : [])]
    .map((text) => `\n${term.color.red(text)}`)
    .join("");
  if (attempts === 0) return term.color.dim("nothing was claimed") + lost;
  const rest = [
    review > 0 && `${review} in review`,
    other > 0 && `${counted(other, "attempt")} ended otherwise`,
  ].filter(Boolean);
  return [term.color.green(`${done} done`), ...rest].join(", ") + lost;
}

const MOST_FAILED = 10;

function describe(event: Stamped<WorkEvent>, term: Term): string {
  const { color } = term;
  const time = color.dim(event.at.slice(11, 19));
  switch (event.kind) {
    case "started": {
      const what = event.types === null ? "any type" : event.types.join(", ");
      return `${time} ${event.worker} waits for work (${what})`;
    }
    case "claimed": {
      const { id, type, attempt, snake } = event;
      const by = snake === undefined ? "" : ` with ${plain(snake)}`;
      const again = attempt > 1 ? color.yellow(` attempt ${attempt}`) : "";
      return `${time} ${id} ${color.dim(`(${plain(type)})`)} begins${by}${again}`;
    }
    case "ended":
      return `${time} ${ending(event, color)}`;
    case "held":
      if (event.reasons.length === 0) return `${time} everything may be claimed again`;
      return event.reasons.map((why) => `${time} ${color.yellow(plain(why))}`).join("\n");
    case "landing":
      return `${time} ${landing(event, color)}`;
    case "reloaded":
      return [`${event.file} was read anew`, ...event.notes]
        .map((line) => `${time} ${plain(line)}`)
        .join("\n");
    case "proven":
      return `${time} ${proven(event, color)}`;
    case "stopping":
      return event.running === 0
        ? `${time} stopping`
        : `${time} stopping after ${counted(event.running, "running task")}; interrupt again to release now`;
    case "trouble": {
      const where = event.id === undefined ? "" : `${event.id}: `;
      return `${time} ${color.red(where + plain(event.message))}`;
    }
    case "finished":
      return summary(event, term);
  }
}

type Of<K extends WorkEvent["kind"]> = Extract<WorkEvent, { kind: K }>;

function proven({ id, snake, how, note, unproven }: Of<"proven">, color: Term["color"]): string {
  const by = snake ? ` by ${plain(snake)}` : "";
  const done = `${id} ${color.green("done by hand")}${by}`;
  if (how === "proven") return `${done}, proven`;
  if (how === "eaten") return `${done}, without a proof`;
  if (how === "review") return `${done}; a person must approve it: viv approve ${id}`;
  const why = note ? `: ${plain(note)}` : "";
  const now = unproven ? ` (its result is done/${unproven} now)` : "";
  return `${id} ${color.yellow("unproven")}${by}${why}${color.dim(now)}`;
}

function landing({ id, landing, target, commit, note }: Of<"landing">, color: Term["color"]) {
  if (landing === "landed") {
    const at = commit === undefined ? "" : color.dim(` (${commit.slice(0, 10)})`);
    return `${id} ${color.green("landed")} in ${plain(target)}${at}`;
  }
  const why = note ? `: ${plain(note)}` : "";
  return `${id} ${color.yellow(landing.replaceAll("_", " "))}${why}`;
}

function ending(event: Of<"ended">, color: Term["color"]): string {
  const { id, outcome, to, retry_at, duration_ms } = event;
  if (outcome === "lost") return `${id} ${color.yellow("was taken away; its result is dropped")}`;
  const took = color.dim(`after ${formatTook(duration_ms)}`);
  const note = event.note ? `: ${plain(event.note)}` : "";
  if (outcome === "done") {
    return `${id} ${color.green(to === "review" ? "waits for review" : "done")} ${took}`;
  }
  const next = retry_at ? `, again at ${retry_at.slice(11, 19)}` : to === "failed" ? "" : `, ${to}`;
  const paint = outcome === "released" || to !== "failed" ? color.yellow : color.red;
  return `${id} ${paint(outcome)} ${took}${note}${color.dim(next)}`;
}

type Output = z.output<typeof workspaces.output>;

const workspacesCommand: Command = {
  op: workspaces,
  positionals: [{ key: "action" }, { key: "id", many: true }],
  examples: [
    ["viv workspaces", "all workspaces, with unmerged work"],
    ["viv workspaces gc", "remove those whose work has landed, or that have none"],
    ["viv workspaces gc t.4", "remove this one; what has not landed is kept as a patch"],
    ["viv workspaces gc --setups", "also what set-ups made for later workspaces"],
    ["viv workspaces retry", "try set-ups again that failed three times"],
  ],
  human: (output: Output, term) => {
    const { color } = term;
    if (output.retried?.length === 0) return color.dim("no set-up has failed");
    if (output.retried) {
      const types = output.retried.map((type) => `[handlers.${plain(type)}]`);
      return `the set-up of ${types.join(", ")} is tried again`;
    }
    if (output.gc) {
      const lines = output.gc.map(({ id, removed, archived, branch_kept, reason }) => {
        const kept = [
          archived && `patch in ${plain(archived)}`,
          branch_kept && `branch ${plain(branch_kept)} kept`,
          reason && plain(reason),
        ].filter(Boolean);
        const what = removed ? color.green("removed") : color.yellow("kept");
        return `${what} ${id}${kept.length > 0 ? color.dim(` (${kept.join("; ")})`) : ""}`;
      });
      for (const id of output.homes ?? []) {
        lines.push(`${color.green("removed")} ${plain(id)} ${color.dim("(its engine's files)")}`);
      }
      if (lines.length === 0) lines.push(color.dim("no workspaces"));
      return [...lines, ...besides(output, term)].join("\n");
    }
    if (output.workspaces.length === 0) {
      return [color.dim("no workspaces"), ...besides(output, term)].join("\n");
    }
    const rows = table(
      output.workspaces.map((one) => [
        one.state === null ? color.dim("gone") : paintState(one.state as never, term),
        one.id,
        one.branch ? plain(one.branch) : one.kind,
        formatSize(one.bytes),
        situation(one),
        plain(one.path),
      ]),
      term,
    );
    return [rows, ...besides(output, term)].join("\n");
  },
};

/** Disk use, what set-ups made, and those that fail. */
function besides(output: Output, { color }: Term): string[] {
  const { setups, limit, removed_setups: removed, setup_failures: failures = [] } = output;
  const kept = setups.reduce((sum, { bytes }) => sum + bytes, 0);
  const of = limit === undefined ? "" : ` of ${formatSize(limit)}`;
  const lines: string[] = [];
  if (output.bytes > 0 || limit !== undefined) {
    const part = kept === 0 ? "" : `, ${formatSize(kept)} of it kept from set-ups`;
    lines.push(color.dim(`${formatSize(output.bytes)}${of}${part}`));
  }
  if (removed) lines.push(`${color.green("removed")} ${counted(removed.length, "kept set-up")}`);
  for (const { type, task, note, log } of failures) {
    const what = `the set-up of [handlers.${type}] failed for ${task}: ${note}`;
    lines.push(`${color.red(plain(what))}${color.dim(`  (log: ${plain(log)})`)}`);
  }
  return lines;
}

function situation(one: Output["workspaces"][number]): string {
  const { dirty, ahead, merged, missing, kind, landed } = one;
  if (missing) return "folder is gone";
  if (kind === "dir") return dirty ? "has files" : "empty";
  const changes = dirty && "uncommitted changes";
  const rest = landed ? `landed in ${plain(landed)}` : merged && "merged";
  const commits = ahead > 0 && `${counted(one.commits ?? ahead, "commit")} not merged`;
  const where = one.commits === 0 ? !dirty && "no changes" : rest || commits;
  return [changes, where].filter(Boolean).join(", ");
}

export const commands = {
  work: workCommand,
  workspaces: workspacesCommand,
} satisfies Record<string, Command>;
