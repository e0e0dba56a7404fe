import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { createColors } from "picocolors";
import type { Store } from "../main.ts";

interface Story {
  store: Store;
  path: string;
  victim: { name: string; task: string } | null;
  /** The viv that is running, for the commands to try. */
  program: string;
  tasks: number;
}

/** The end of the demo: what happened, checked against the run, and what to try next. */
export async function tellStory(
  { store, path, victim, program, tasks }: Story,
  color: ReturnType<typeof createColors>,
): Promise<number> {
  const counts = await store.counts();
  const twice = await doneTwice(store);
  const { findings } = await store.doctor();
  const well = counts.done === tasks && twice.length === 0 && findings.length === 0;
  const once = twice.length === 0 ? "each exactly once" : `but twice: ${twice.join(", ")}`;
  const lines = ["", color.bold("What happened")];
  lines.push(`  ${counts.done} of ${tasks} tasks are done, ${once}.`);
  if (victim) {
    const last = (await store.attemptsOf(victim.task)).at(-1);
    const by = last ? `${last.worker} did it in attempt ${last.attempt}` : "no worker did it";
    lines.push(`  ${victim.name} was killed while it held ${victim.task}; ${by}.`);
  }
  const total = readFileSync(join(path, "artifacts/total.md"), "utf8").trim().split("\n").at(-1);
  lines.push(`  total ran last: ${total}`);
  lines.push(`  doctor: ${findings.length === 0 ? "healthy" : `${findings.length} found`}`);
  for (const { path: where, message } of findings) lines.push(`    ${where}: ${message}`);
  lines.push("", color.bold("Look at it: every state is a folder"));
  const tries: [string, string][] = [
    [`viv() { node ${program} "$@"; }`, "unless viv is installed"],
    [`export VIV_RUN=${path}`, ""],
    ["ls $VIV_RUN/done", "ownership is where a file lies"],
    [`viv show ${victim?.task ?? "total"}`, "two attempts: one abandoned, one done"],
    ["viv ls", ""],
    ["tail -3 $VIV_RUN/ledger/*.jsonl", "all that happened, one line each"],
  ];
  for (const [command, what] of tries) {
    if (what) lines.push(color.dim(`  # ${what}`));
    lines.push(`  ${color.cyan(command)}`);
  }
  lines.push("", color.bold("Then make your own"));
  lines.push(
    `  ${color.cyan("unset VIV_RUN; viv init ./audit && viv enqueue --type hello --id t.1")}`,
  );
  lines.push(`  ${color.cyan("viv why t.1; viv --help")}`);
  lines.push(color.dim("  # this run goes with"), `  ${color.cyan(`rm -r ${path}`)}`);
  process.stdout.write(`${lines.join("\n")}\n`);
  return well ? 0 : 1;
}

async function doneTwice(store: Store): Promise<string[]> {
  const tokens = new Map<string, Set<string>>();
  for await (const line of store.ledger()) {
    if (!line.task || !line.token) continue;
    const of = tokens.get(line.task) ?? new Set();
    tokens.set(line.task, of);
    if (line.event === "ended" && line.outcome === "done") of.add(line.token);
    if (line.event === "void" && line.outcome === "done") of.delete(line.token);
  }
  return [...tokens].filter(([, of]) => of.size > 1).map(([task]) => task);
}
