import type { Catalog, CatalogEntry, Group } from "../operation/catalog.ts";
import type { Command } from "../operation/command.ts";

const commands: readonly CatalogEntry[] = [
  entry("init", "make a run, and use it from here", "tasks", () => import("../queue/cli/init.ts")),
  entry(
    "enqueue",
    "add a task, or a stream of them",
    "tasks",
    () => import("../queue/cli/enqueue.ts"),
  ),
  entry("pit init", "make a pit", "tasks", () => import("../pit/cli/init.ts")),
  entry("pit toss", "toss food into a pit", "tasks", () => import("../pit/cli/toss.ts")),
  entry(
    "pit status",
    "who is digesting what, and what is stuck",
    "looking",
    () => import("../pit/cli/status.ts"),
  ),
  entry(
    "pit sweep",
    "cleanup duty, once: prove, reclaim, tidy waste/",
    "care",
    () => import("../pit/cli/sweep.ts"),
  ),
  entry("board ls", "the tasks of a board", "looking", () => import("../board/cli/ls.ts")),
  entry("board next", "what an agent would take", "looking", () => import("../board/cli/next.ts")),
  entry("board claim", "take a task of a board", "workers", () => import("../board/cli/claim.ts")),
  entry("board advance", "pass a task on", "workers", () => import("../board/cli/advance.ts")),
  entry("board bounce", "send a task back", "workers", () => import("../board/cli/bounce.ts")),
  entry("board open", "put a task on a board", "tasks", () => import("../board/cli/open.ts")),
  entry("board show", "a task of a board", "looking", () => import("../board/cli/show.ts")),
  entry("board log", "the commits of a task", "looking", () => import("../board/cli/log.ts")),
  entry(
    "board audit",
    "commits that broke the protocol",
    "care",
    () => import("../board/cli/audit.ts"),
  ),
  entry("cancel", "stop a task for good", "tasks", () => import("../queue/cli/cancel.ts")),
  entry("retry", "send a failed task round again", "tasks", () => import("../queue/cli/retry.ts")),
  entry("approve", "accept a task in review", "tasks", () => import("../queue/cli/approve.ts")),
  entry("reject", "send a task in review back", "tasks", () => import("../queue/cli/reject.ts")),
  entry("crew up", "start the crew of a manifest", "workers", () => import("../crew/cli/up.ts")),
  entry("crew ps", "how each member is", "looking", () => import("../crew/cli/ps.ts")),
  entry("crew tick", "one tick now, watched", "workers", () => import("../crew/cli/tick.ts")),
  entry("crew pause", "let a member rest", "care", () => import("../crew/cli/pause.ts")),
  entry("crew resume", "let it go on", "care", () => import("../crew/cli/resume.ts")),
  entry("crew stop", "stop the crew", "care", () => import("../crew/cli/stop.ts")),
  entry("keeper up", "start one agent, alone", "workers", () => import("../crew/cli/keeper-up.ts")),
  entry(
    "work",
    "run a handler for task after task",
    "workers",
    () => import("../work/cli/work.ts"),
  ),
  entry("up", "keep the agents of an agents.toml alive", "workers", () => import("./up.ts")),
  entry(
    "warrant file",
    "name a suspect, so that a dog asks it",
    "workers",
    () => import("../warden/cli/warrant-file.ts"),
  ),
  entry("warrant ls", "the open warrants", "looking", () => import("../warden/cli/warrant-ls.ts")),
  entry(
    "warrant show",
    "everything about one warrant",
    "looking",
    () => import("../warden/cli/warrant-show.ts"),
  ),
  entry(
    "warrant withdraw",
    "take a warrant back",
    "care",
    () => import("../warden/cli/warrant-withdraw.ts"),
  ),
  entry("epitaph", "how a warrant ended", "looking", () => import("../warden/cli/epitaph.ts")),
  entry(
    "dog pool status",
    "the dogs, and whom they ask",
    "looking",
    () => import("../warden/cli/dog-pool-status.ts"),
  ),
  entry(
    "dog status",
    "the dogs, a line for each",
    "looking",
    () => import("../warden/cli/dog-status.ts"),
  ),
  entry(
    "dog pool allocate",
    "give a warrant to a dog now",
    "care",
    () => import("../warden/cli/dog-pool-allocate.ts"),
  ),
  entry(
    "dog pool release",
    "end a dance without a verdict",
    "care",
    () => import("../warden/cli/dog-pool-release.ts"),
  ),
  entry(
    "dog dances",
    "the dances in progress",
    "looking",
    () => import("../warden/cli/dog-dances.ts"),
  ),
  entry("dog warrants", "the queue", "looking", () => import("../warden/cli/dog-warrants.ts")),
  entry("warden up", "run the pool", "workers", () => import("../warden/cli/up.ts")),
  entry(
    "warden status",
    "the warden, its verdicts and findings",
    "looking",
    () => import("../warden/cli/status.ts"),
  ),
  entry("warden pause", "let the pool pause", "care", () => import("../warden/cli/pause.ts")),
  entry("warden resume", "let it go on", "care", () => import("../warden/cli/resume.ts")),
  entry("alive", "answer the warden's question", "workers", () => import("../warden/cli/alive.ts")),
  entry("claim", "take the next task", "workers", () => import("../queue/cli/claim.ts")),
  entry("complete", "a claimed task is done", "workers", () => import("../queue/cli/complete.ts")),
  entry("fail", "a claimed task failed", "workers", () => import("../queue/cli/fail.ts")),
  entry("release", "give a claimed task back", "workers", () => import("../queue/cli/release.ts")),
  entry(
    "heartbeat",
    "show that a worker is alive",
    "workers",
    () => import("../queue/cli/heartbeat.ts"),
  ),
  entry("ls", "what is where", "looking", () => import("../overview/cli/ls.ts")),
  entry("show", "everything about one task", "looking", () => import("../overview/cli/show.ts")),
  entry("tree", "tasks and what they enqueued", "looking", () => import("../overview/cli/tree.ts")),
  entry("why", "why a task is not moving", "looking", () => import("../overview/cli/why.ts")),
  entry("status", "the run's checkpoint and workers", "looking", () => import("./status.ts")),
  entry("watch", "changes as they happen", "looking", () => import("../overview/cli/watch.ts")),
  entry("logs", "what a task wrote", "looking", () => import("../queue/cli/logs.ts")),
  entry(
    "costs",
    "dollars, tokens, proven tasks",
    "looking",
    () => import("../overview/cli/costs.ts"),
  ),
  entry("prices", "what each model costs", "looking", () => import("../engines/cli/prices.ts")),
  entry(
    "engines",
    "what is installed; dry runs",
    "care",
    () => import("../overview/cli/engines.ts"),
  ),
  entry(
    "accounts",
    "which may be used, until when not; open, close",
    "care",
    () => import("../engines/cli/accounts.ts"),
  ),
  entry(
    "gate",
    "how many engines may run; who is in, who waits",
    "care",
    () => import("../gate/cli/gate.ts"),
  ),
  entry(
    "workspaces",
    "where tasks worked; gc tidies up",
    "care",
    () => import("../work/cli/workspaces.ts"),
  ),
  entry(
    "service",
    "run a worker and a reaper with systemd",
    "care",
    () => import("../fleet/cli/service.ts"),
  ),
  entry("reap", "take back what dead workers hold", "care", () => import("../queue/cli/reap.ts")),
  entry(
    "doctor",
    "check every invariant, repair with --fix",
    "care",
    () => import("../queue/cli/doctor.ts"),
  ),
];

/** Commands of two words and more: what the first word is about. */
const families: Catalog["families"] = {
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
const others: Catalog["others"] = [
  { name: "demo", summary: "a small fleet at work, with a crash on the way" },
  { name: "completion", summary: "completion for bash, zsh or fish" },
  { name: "help", summary: "help on a command" },
  { name: "version", summary: "the version" },
];

export const CATALOG: Catalog = { commands, families, others };

function entry(
  name: string,
  summary: string,
  group: Group,
  load: () => Promise<{ command: Command }>,
): CatalogEntry {
  return { name, summary, group, load: async () => (await load()).command };
}
