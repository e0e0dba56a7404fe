import type { Io } from "../../operation/io.ts";
import { plain, type Term } from "../../operation/term.ts";

interface Changed {
  slug: string;
  from: string | null;
  to: string;
  agent: string | null;
  commit: string | null;
  subject: string;
  trouble?: string;
}

/** `research: claim hello-world  ASSIGNED → RESEARCH  1a2b3c4` */
export function changedLine(changed: Changed, { color }: Term): string {
  const { from, to, commit, subject, slug, agent } = changed;
  if (commit === null) return `${plain(slug)} is ${agent}'s already ${color.dim(plain(to))}`;
  const way = from === null ? to : from === to ? to : `${from} → ${to}`;
  return `${color.green(plain(subject))} ${color.dim(`${plain(way)} ${commit.slice(0, 7)}`)}`;
}

/** It is made, but something in this checkout stayed behind. */
export function tellTrouble(output: unknown, _: unknown, io: Io): void {
  const { trouble } = output as Changed;
  if (trouble !== undefined) io.stderr.write(`viv: ${plain(trouble)}\n`);
}

export function taskRow(
  task: { slug: string; state: string; agent: string | null; title: string },
  { color }: Term,
): string[] {
  return [
    color.cyan(plain(task.state)),
    plain(task.slug),
    task.agent === null ? color.dim("-") : color.yellow(plain(task.agent)),
    plain(task.title),
  ];
}
