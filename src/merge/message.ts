import { git } from "../platform/git/git.ts";
import type { Task } from "../queue/task.ts";
import type { Candidate } from "./candidates.ts";
import type { Strategy } from "./config.ts";
import type { Scratch } from "./scratch.ts";

const LONGEST = 72;

/** What the task is about, in one line: its payload's title or goal. */
export function titleOf({ task_id, task_type, payload }: Task): string {
  const named = [payload.title, payload.goal].find((one) => typeof one === "string");
  const line = String(named ?? "")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  if (line === "") return `${task_type}: ${task_id}`;
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

/** The message of a merge or squash commit. A rebase keeps those of the commits. */
export async function messageFor(
  { id, task, branch, base, head }: Candidate,
  { strategy, target, scratch }: { strategy: Strategy; target: string; scratch: Scratch | null },
): Promise<string> {
  const trailer = `Viv-Task: ${id}\n`;
  if (strategy === "rebase") return trailer;
  const title = titleOf(task);
  if (strategy === "merge") return `Merge ${branch} into ${target}\n\n${title}\n\n${trailer}`;
  const list = ["log", "--format=* %s", "--reverse", "--max-count=50", `${base}..${head}`];
  const subjects = scratch === null ? "" : await git(list, scratch.place);
  return `${title}\n\n${subjects}\n\n${trailer}`;
}
