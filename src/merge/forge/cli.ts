import type * as z from "zod/mini";
import { counted } from "../../base/text.ts";
import type { Command } from "../../operation/command.ts";
import { plain, prose, type Term, table } from "../../operation/term.ts";
import { importFrom, pr, sync } from "./operations.ts";

type PrOutput = z.output<typeof pr.output>;
type SyncOutput = z.output<typeof sync.output>;
type ImportOutput = z.output<typeof importFrom.output>;

/** The run or the machine cannot do it now. */
const HELD = 5;

const WORDS: Record<string, string> = {
  pull_request: "open",
  no_changes: "no changes",
  needs_you: "needs you",
};

function paintLanding(landing: string | null, { color }: Term): string {
  const word = WORDS[landing ?? ""] ?? landing ?? "not landed";
  if (landing === "landed" || landing === "pull_request") return color.green(word);
  return landing === "held" || landing === "needs_you" || landing === "closed"
    ? color.yellow(word)
    : word;
}

/** The line below a row: what a person types. */
function commandsOf(rows: readonly { command?: string }[], { color }: Term): string[] {
  const commands = new Set(rows.flatMap(({ command }) => (command === undefined ? [] : [command])));
  return [...commands].map((command) => color.dim(`  ${plain(command)}`));
}

const prCommand: Command = {
  op: pr,
  positionals: [{ key: "ids", many: true }],
  names: { ids: "id" },
  examples: [
    ["viv pr t.7", "push its branch, and open a pull request with the proof in it"],
    ["viv pr t.7 --dry-run", "what would be pushed and written"],
    ["viv pr --all --draft", "a draft for each done task"],
  ],
  human: ({ tasks }: PrOutput, term) => {
    if (tasks.length === 0) return term.color.dim("no done task has commits that are due");
    const plans = tasks.flatMap(({ id, plan }) => (plan ? [planText(id, plan, term)] : []));
    if (plans.length > 0) return plans.join("\n\n");
    const rows = tasks.map(({ id, landing, url, reason }) => [
      paintLanding(landing, term),
      id,
      plain(url ?? ""),
      prose(plain(reason ?? "")),
    ]);
    return [table(rows, term), ...commandsOf(tasks, term)].join("\n");
  },
  exit: ({ tasks }: PrOutput) => (tasks.some(({ landing }) => landing === "held") ? HELD : 0),
};

type Plan = NonNullable<PrOutput["tasks"][number]["plan"]>;

function planText(id: string, plan: Plan, { color }: Term): string {
  const { branch, commit, remote, base, repo } = plan;
  const pushes = plan.push
    ? `push ${commit.slice(0, 12)} to ${remote} as ${branch}`
    : `${branch} of ${remote} is up to date`;
  const opens = plan.open ? `open a pull request into ${base} of ${repo}` : "it is open already";
  const text = `${plan.title}\n\n${plan.body}`.replace(/^/gm, "  ");
  return `${id}: ${plain(`${pushes}; ${opens}`)}\n\n${color.dim(text)}`;
}

const DID: Record<string, string> = {
  landed: "landed",
  closed: "closed",
  pushed: "pushed",
  sent_back: "sent back",
  held: "held",
};

const syncCommand: Command = {
  op: sync,
  positionals: [{ key: "ids", many: true }],
  names: { ids: "id" },
  examples: [
    ["viv sync", "what became of all pull requests; comments on issues whose work has landed"],
    ["viv sync t.7", "of one, also if it was closed long ago"],
  ],
  human: ({ tasks, held }: SyncOutput, term) => {
    const { color } = term;
    const rows = tasks.map(({ id, did, landing, url, commit, reason, told }) => [
      did === "nothing" ? paintLanding(landing, term) : color.yellow(DID[did] ?? did),
      id,
      plain(url ?? ""),
      prose(
        plain(
          [commit && `as ${commit.slice(0, 12)}`, reason, told && "its issue was told"]
            .filter(Boolean)
            .join("; "),
        ),
      ),
    ]);
    const lines = rows.length > 0 ? [table(rows, term), ...commandsOf(tasks, term)] : [];
    if (held) lines.push(color.yellow(plain(`held: ${held.reason}`)));
    return lines.length > 0 ? lines.join("\n") : color.dim("no pull requests to read back");
  },
  exit: ({ tasks, held }: SyncOutput) =>
    held !== undefined || tasks.some(({ did }) => did === "held") ? HELD : 0,
};

const importCommand: Command = {
  op: importFrom,
  examples: [
    ["viv import --from gh", "a task gh-12 of each open issue that is labelled agent"],
    ["viv import --from glab --label bot --type fix", "another label, another type"],
    ["viv import --from gh --repo owner/name --dry-run", "what would become a task"],
  ],
  human: ({ tasks, more }: ImportOutput, term) => {
    if (tasks.length === 0) return term.color.dim("no open issue has the label");
    const paint = {
      created: term.color.green,
      existed: term.color.dim,
      skipped: term.color.yellow,
    };
    // A dry run made none of them.
    const isDry = tasks.every(({ did, state }) => did !== "created" || state === null);
    const rows = tasks.map(({ id, did, title, reason }) => [
      paint[did](isDry && did === "created" ? "new" : did),
      id,
      prose(plain(title)),
      prose(plain(reason ?? "")),
    ]);
    const made = tasks.filter(({ did }) => did === "created").length;
    const sum =
      isDry && made > 0 ? `${counted(made, "task")} would be made` : counted(made, "new task");
    const lines = [table(rows, term), term.color.dim(sum)];
    const next = tasks.length * 10;
    if (more) {
      const words = `there are more issues than ${tasks.length}; take them with --limit ${next}`;
      lines.push(term.color.yellow(words));
    }
    return lines.join("\n");
  },
};

export const commands = {
  pr: prCommand,
  sync: syncCommand,
  import: importCommand,
} satisfies Record<string, Command>;
