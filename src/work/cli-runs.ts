import type * as z from "zod/mini";
import { formatDuration } from "../base/duration.ts";
import { formatSize } from "../base/size.ts";
import { counted } from "../base/text.ts";
import { byDefault, type Command } from "../operation/command.ts";
import { plain, prose, type Term, table } from "../operation/term.ts";
import { TASK_WORDS } from "../queue/states.ts";
import { archive } from "./operations/archive.ts";
import { rm } from "./operations/rm.ts";
import { type RunInfo, runs } from "./operations/runs.ts";

const runsCommand: Command = {
  op: runs,
  examples: [
    ["viv runs", "the last changed first"],
    ["viv runs --prune", "and forget those that are gone"],
  ],
  human: ({ runs: found, pruned }: z.output<typeof runs.output>, term, io) => {
    const lines = (pruned ?? []).map((path) => `${term.color.green("forgot")} ${plain(path)}`);
    if (found.length === 0) lines.push(term.color.dim("no run is known; make one with: viv init"));
    else
      lines.push(
        table(
          found.map((run) => row(run, term, io.now())),
          term,
        ),
      );
    return lines.join("\n");
  },
};

function row(run: RunInfo, { color }: Term, now: number) {
  const { state, counts, last_change, path, note, address, workers = 0 } = run;
  const paint =
    { running: color.blue, paused: color.yellow, finished: color.green, open: color.yellow }[
      state as string
    ] ?? color.dim;
  const parts = TASK_WORDS.filter((word) => (counts?.[word] ?? 0) > 0).map(
    (word) => `${counts?.[word]} ${word}`,
  );
  if (workers > 0) parts.push(counted(workers, "worker"));
  if (address !== undefined) parts.push(plain(address));
  return [
    paint(state),
    plain(path),
    last_change === null ? "" : `${formatDuration(now - Date.parse(last_change))} ago`,
    prose([...parts, ...(note ? [plain(note)] : [])].join(", ")),
  ];
}

const archiveCommand: Command = {
  op: archive,
  positionals: [{ key: "dir" }],
  defaults: byDefault,
  examples: [
    ["viv archive ./audit", "becomes audit.tar.gz"],
    ["viv archive --restore ./audit", "as it was, and paused"],
  ],
  human: (output: z.output<typeof archive.output>, { color }) => {
    const { run_dir, archive: file, restored, branches } = output;
    if (restored) {
      return `${color.green("restored")} ${plain(run_dir)} ${color.dim("(paused; go on with: viv resume)")}`;
    }
    const line = `${color.green("archived")} ${plain(run_dir)} ${color.dim(`as ${plain(file)}`)}`;
    return branches.length === 0 ? line : `${line}\n${kept(branches)}`;
  },
};

function kept(branches: readonly string[]): string {
  return `branches with commits of their own stay: ${branches.map(plain).join(", ")}`;
}

const rmCommand: Command = {
  op: rm,
  positionals: [{ key: "dir" }],
  defaults: byDefault,
  examples: [
    ["viv rm ./audit", "asks first"],
    ["viv rm ./audit --yes", "does not ask"],
  ],
  exit: ({ removed }: z.output<typeof rm.output>) => (removed ? 0 : 1),
  human: ({ run_dir, removed, tasks, bytes, branches }: z.output<typeof rm.output>, { color }) => {
    if (!removed) return color.dim("nothing was removed");
    const size = color.dim(`(${counted(tasks, "task")}, ${formatSize(bytes)})`);
    const line = `${color.green("removed")} ${plain(run_dir)} ${size}`;
    return branches.length === 0 ? line : `${line}\n${kept(branches)}`;
  },
};

export const commands = {
  runs: runsCommand,
  archive: archiveCommand,
  rm: rmCommand,
} satisfies Record<string, Command>;
