import type { Command } from "./command.ts";

/** Every command: its name, one line about it, and where it is. Loaded only when it is used. */
export interface CatalogEntry {
  name: string;
  summary: string;
  group: "tasks" | "workers" | "looking" | "care";
  load: () => Promise<{ command: Command }>;
}

export const CATALOG: readonly CatalogEntry[] = [
  entry("init", "make a run, and use it from here", "tasks", () => import("./commands/init.ts")),
  entry(
    "enqueue",
    "add a task, or a stream of them",
    "tasks",
    () => import("./commands/enqueue.ts"),
  ),
  entry("pit init", "make a pit", "tasks", () => import("./commands/pit-init.ts")),
  entry("pit toss", "toss food into a pit", "tasks", () => import("./commands/pit-toss.ts")),
  entry(
    "pit status",
    "who is digesting what, and what is stuck",
    "looking",
    () => import("./commands/pit-status.ts"),
  ),
  entry(
    "pit sweep",
    "cleanup duty, once: prove, reclaim, tidy waste/",
    "care",
    () => import("./commands/pit-sweep.ts"),
  ),
  entry("board ls", "the tasks of a board", "looking", () => import("./commands/board-ls.ts")),
  entry(
    "board next",
    "what an agent would take",
    "looking",
    () => import("./commands/board-next.ts"),
  ),
  entry(
    "board claim",
    "take a task of a board",
    "workers",
    () => import("./commands/board-claim.ts"),
  ),
  entry("board advance", "pass a task on", "workers", () => import("./commands/board-advance.ts")),
  entry("board bounce", "send a task back", "workers", () => import("./commands/board-bounce.ts")),
  entry("board open", "put a task on a board", "tasks", () => import("./commands/board-open.ts")),
  entry("board show", "a task of a board", "looking", () => import("./commands/board-show.ts")),
  entry("board log", "the commits of a task", "looking", () => import("./commands/board-log.ts")),
  entry(
    "board audit",
    "commits that broke the protocol",
    "care",
    () => import("./commands/board-audit.ts"),
  ),
  entry("cancel", "stop a task for good", "tasks", () => import("./commands/cancel.ts")),
  entry("retry", "send a failed task round again", "tasks", () => import("./commands/retry.ts")),
  entry("approve", "accept a task in review", "tasks", () => import("./commands/approve.ts")),
  entry("reject", "send a task in review back", "tasks", () => import("./commands/reject.ts")),
  entry(
    "crew up",
    "start the crew of a manifest",
    "workers",
    () => import("./commands/crew-up.ts"),
  ),
  entry("crew ps", "how each member is", "looking", () => import("./commands/crew-ps.ts")),
  entry("crew tick", "one tick now, watched", "workers", () => import("./commands/crew-tick.ts")),
  entry("crew pause", "let a member rest", "care", () => import("./commands/crew-pause.ts")),
  entry("crew resume", "let it go on", "care", () => import("./commands/crew-resume.ts")),
  entry("crew stop", "stop the crew", "care", () => import("./commands/crew-stop.ts")),
  entry("keeper up", "start one agent, alone", "workers", () => import("./commands/keeper-up.ts")),
  entry("work", "run a handler for task after task", "workers", () => import("./commands/work.ts")),
  entry(
    "up",
    "keep the agents of an agents.toml alive",
    "workers",
    () => import("./commands/up.ts"),
  ),
  entry(
    "warrant file",
    "name a suspect, so that a dog asks it",
    "workers",
    () => import("./commands/warrant-file.ts"),
  ),
  entry("warrant ls", "the open warrants", "looking", () => import("./commands/warrant-ls.ts")),
  entry(
    "warrant show",
    "everything about one warrant",
    "looking",
    () => import("./commands/warrant-show.ts"),
  ),
  entry(
    "warrant withdraw",
    "take a warrant back",
    "care",
    () => import("./commands/warrant-withdraw.ts"),
  ),
  entry("epitaph", "how a warrant ended", "looking", () => import("./commands/epitaph.ts")),
  entry(
    "dog pool status",
    "the dogs, and whom they ask",
    "looking",
    () => import("./commands/dog-pool-status.ts"),
  ),
  entry(
    "dog status",
    "the dogs, a line for each",
    "looking",
    () => import("./commands/dog-status.ts"),
  ),
  entry(
    "dog pool allocate",
    "give a warrant to a dog now",
    "care",
    () => import("./commands/dog-pool-allocate.ts"),
  ),
  entry(
    "dog pool release",
    "end a dance without a verdict",
    "care",
    () => import("./commands/dog-pool-release.ts"),
  ),
  entry(
    "dog dances",
    "the dances in progress",
    "looking",
    () => import("./commands/dog-dances.ts"),
  ),
  entry("dog warrants", "the queue", "looking", () => import("./commands/dog-warrants.ts")),
  entry("warden up", "run the pool", "workers", () => import("./commands/warden-up.ts")),
  entry(
    "warden status",
    "the warden, its verdicts and findings",
    "looking",
    () => import("./commands/warden-status.ts"),
  ),
  entry("warden pause", "let the pool pause", "care", () => import("./commands/warden-pause.ts")),
  entry("warden resume", "let it go on", "care", () => import("./commands/warden-resume.ts")),
  entry("alive", "answer the warden's question", "workers", () => import("./commands/alive.ts")),
  entry("claim", "take the next task", "workers", () => import("./commands/claim.ts")),
  entry("complete", "a claimed task is done", "workers", () => import("./commands/complete.ts")),
  entry("fail", "a claimed task failed", "workers", () => import("./commands/fail.ts")),
  entry("release", "give a claimed task back", "workers", () => import("./commands/release.ts")),
  entry(
    "heartbeat",
    "show that a worker is alive",
    "workers",
    () => import("./commands/heartbeat.ts"),
  ),
  entry("ls", "what is where", "looking", () => import("./commands/ls.ts")),
  entry("show", "everything about one task", "looking", () => import("./commands/show.ts")),
  entry("tree", "tasks and what they enqueued", "looking", () => import("./commands/tree.ts")),
  entry("why", "why a task is not moving", "looking", () => import("./commands/why.ts")),
  entry(
    "status",
    "the run's checkpoint and workers",
    "looking",
    () => import("./commands/status.ts"),
  ),
  entry("watch", "changes as they happen", "looking", () => import("./commands/watch.ts")),
  entry("logs", "what a task wrote", "looking", () => import("./commands/logs.ts")),
  entry("costs", "dollars, tokens, proven tasks", "looking", () => import("./commands/costs.ts")),
  entry("prices", "what each model costs", "looking", () => import("./commands/prices.ts")),
  entry("engines", "what is installed; dry runs", "care", () => import("./commands/engines.ts")),
  entry(
    "accounts",
    "which may be used, until when not; open, close",
    "care",
    () => import("./commands/accounts.ts"),
  ),
  entry(
    "gate",
    "how many engines may run; who is in, who waits",
    "care",
    () => import("./commands/gate.ts"),
  ),
  entry(
    "workspaces",
    "where tasks worked; gc tidies up",
    "care",
    () => import("./commands/workspaces.ts"),
  ),
  entry(
    "service",
    "run a worker and a reaper with systemd",
    "care",
    () => import("./commands/service.ts"),
  ),
  entry("reap", "take back what dead workers hold", "care", () => import("./commands/reap.ts")),
  entry(
    "doctor",
    "check every invariant, repair with --fix",
    "care",
    () => import("./commands/doctor.ts"),
  ),
];

/** Commands of two words and more: what the first word is about. */
export const FAMILIES: Readonly<Record<string, { summary: string; group: CatalogEntry["group"] }>> =
  {
    crew: { summary: "standing agents: up ps tick pause resume stop", group: "workers" },
    keeper: { summary: "one standing agent, alone: up", group: "workers" },
    board: {
      summary: "ls show next claim advance bounce open log audit",
      group: "tasks",
    },
    warrant: { summary: "suspects: file, ls, show, withdraw", group: "workers" },
    dog: { summary: "who asks: status, pool status, dances, warrants", group: "looking" },
    warden: { summary: "who keeps the dogs: up, status, pause, resume", group: "care" },
    pit: { summary: "the snake pit: init, toss, status, sweep", group: "tasks" },
  };

/** Commands that are not renderings of an operation. */
export const OTHER_COMMANDS: readonly { name: string; summary: string }[] = [
  { name: "demo", summary: "a small fleet at work, with a crash on the way" },
  { name: "completion", summary: "completion for bash, zsh or fish" },
  { name: "help", summary: "help on a command" },
  { name: "version", summary: "the version" },
];

function entry(
  name: string,
  summary: string,
  group: CatalogEntry["group"],
  load: CatalogEntry["load"],
): CatalogEntry {
  return { name, summary, group, load };
}

export function allCommandNames(): string[] {
  return [...new Set([...CATALOG, ...OTHER_COMMANDS].map(({ name }) => firstWord(name)))];
}

export function firstWord(name: string): string {
  return name.split(" ")[0] ?? name;
}

/** The commands that begin with this word. */
export function familyOf(word: string): CatalogEntry[] {
  return CATALOG.filter(({ name }) => name.startsWith(`${word} `));
}

/** The command with the longest name that these words begin with, and what follows it. */
export function findCommand(
  words: readonly string[],
): { entry: CatalogEntry; rest: string[] } | null {
  for (let n = Math.min(3, words.length); n > 0; n--) {
    const name = words.slice(0, n).join(" ");
    const entry = CATALOG.find((candidate) => candidate.name === name);
    if (entry) return { entry, rest: words.slice(n) };
  }
  return null;
}
