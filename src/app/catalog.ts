import type { Catalog, CatalogEntry, Group } from "../operation/catalog.ts";
import type { Command } from "../operation/command.ts";

/** Loaded only when one of their commands is used. */
const board = () => import("../board/cli.ts");
const crew = () => import("../crew/cli.ts");
const engines = () => import("../engines/cli.ts");
const fleet = () => import("../fleet/cli.ts");
const fleetRun = () => import("../fleet/fleet-cli.ts");
const forge = () => import("../merge/forge/cli.ts");
const gate = () => import("../gate/cli.ts");
const init = () => import("./init.ts");
const merge = () => import("../merge/cli.ts");
const mergeDiff = () => import("../merge/diff-cli.ts");
const models = () => import("../overview/model-cli.ts");
const notify = () => import("../notify/cli.ts");
const overview = () => import("../overview/cli.ts");
const overviewWhy = () => import("../overview/why.ts");
const overviewLedger = () => import("../overview/ledger/cli.ts");
const overviewReport = () => import("../overview/report/report-cli.ts");
const overviewExport = () => import("../overview/export/export-cli.ts");
const overviewTop = () => import("../overview/top/cli.ts");
const pit = () => import("../pit/cli.ts");
const queueClaims = () => import("../queue/cli/claims.ts");
const queueLogs = () => import("../queue/cli/logs.ts");
const queueMaintenance = () => import("../queue/cli/maintenance.ts");
const queueTasks = () => import("../queue/cli/tasks.ts");
const schedules = () => import("../fleet/schedule/cli.ts");
const server = () => import("../server/cli.ts");
const settings = () => import("./settings/cli.ts");
const status = () => import("./status.ts");
const up = () => import("./up.ts");
const wardenWarden = () => import("../warden/cli/warden.ts");
const wardenWarrants = () => import("../warden/cli/warrants.ts");
const work = () => import("../work/cli.ts");
const workRuns = () => import("../work/cli-runs.ts");
const workEnds = () => import("../work/cli-end.ts");

const commands: readonly CatalogEntry[] = [
  entry("init", "create a run, or files from a template", "tasks", init),
  entry("enqueue", "add a task, or a stream of them", "tasks", queueTasks),
  entry("import", "make tasks of a forge's issues", "tasks", forge),
  entry("pit init", "create a pit", "tasks", pit),
  entry("pit toss", "toss food into a pit", "tasks", pit),
  entry("pit status", "claims, and food that is stuck", "looking", pit),
  entry("pit sweep", "cleanup duty, once: prove, reclaim, tidy waste/", "care", pit),
  entry("board init", "make a board and commit it", "tasks", board),
  entry("board ls", "the tasks of a board", "looking", board),
  entry("board next", "the next task of an agent", "looking", board),
  entry("board claim", "claim a task of a board", "workers", board),
  entry("board advance", "move a task to the next state", "workers", board),
  entry("board bounce", "send a task back", "workers", board),
  entry("board open", "add a task to a board", "tasks", board),
  entry("board show", "a task of a board", "looking", board),
  entry("board log", "the commits of a task", "looking", board),
  entry("board audit", "commits that broke the protocol", "care", board),
  entry("cancel", "stop a task for good", "tasks", queueTasks),
  entry("retry", "requeue a failed task", "tasks", queueTasks),
  entry("approve", "accept a task in review", "tasks", workEnds),
  entry("reject", "send a task in review back", "tasks", queueTasks),
  entry("merge", "land done work in a branch, proven after the merge", "tasks", merge),
  entry("pr", "push a done task's branch, open a pull request", "tasks", forge),
  entry("sync", "read back pull requests: merged, closed, red, comments", "tasks", forge),
  entry("crew up", "start the crew of a manifest", "workers", crew),
  entry("crew ps", "state of each member", "looking", crew),
  entry("crew tick", "run one tick now and follow it", "workers", crew),
  entry("crew pause", "pause a member", "care", crew),
  entry("crew resume", "resume it", "care", crew),
  entry("crew stop", "stop the crew", "care", crew),
  entry("keeper up", "start a single agent", "workers", crew),
  entry("work", "claim tasks and run a handler for each", "workers", work),
  entry("up", "run what viv.toml declares, restart what dies", "workers", up),
  entry("ps", "the parts of the running viv up", "looking", fleetRun),
  entry("down", "stop the running viv up", "workers", fleetRun),
  entry("schedule ls", "the schedules, with their next fires", "looking", schedules),
  entry("schedule run", "fire a schedule now", "tasks", schedules),
  entry("schedule pause", "let a schedule fire no more", "care", schedules),
  entry("schedule resume", "let it fire again", "care", schedules),
  entry("warrant file", "file a warrant against a suspect", "workers", wardenWarrants),
  entry("warrant ls", "the open warrants", "looking", wardenWarrants),
  entry("warrant show", "everything about one warrant", "looking", wardenWarrants),
  entry("warrant screen", "the target's screen as it is", "looking", wardenWarrants),
  entry("warrant withdraw", "withdraw a warrant", "care", wardenWarrants),
  entry("epitaph", "how a warrant ended", "looking", wardenWarrants),
  entry("dog pool status", "the dogs and their targets", "looking", wardenWarrants),
  entry("dog status", "the dogs, a line for each", "looking", wardenWarrants),
  entry("dog pool allocate", "assign a warrant to a dog now", "care", wardenWarrants),
  entry("dog pool release", "end a dance without a verdict", "care", wardenWarrants),
  entry("dog dances", "the running dances", "looking", wardenWarrants),
  entry("dog warrants", "the queue", "looking", wardenWarrants),
  entry("warden up", "run the pool", "workers", wardenWarden),
  entry("warden status", "the warden, its verdicts and findings", "looking", wardenWarden),
  entry("warden receipts", "how warrants ended", "looking", wardenWarden),
  entry("warden pause", "pause the pool", "care", wardenWarden),
  entry("warden resume", "resume it", "care", wardenWarden),
  entry("alive", "answer the warden's question", "workers", wardenWarden),
  entry("claim", "take the next task", "workers", queueClaims),
  entry("complete", "end a claim: prove it, done", "workers", workEnds),
  entry("fail", "end a claim: the attempt failed", "workers", queueClaims),
  entry("release", "return a claimed task", "workers", queueClaims),
  entry("heartbeat", "record that a worker is alive", "workers", queueClaims),
  entry("ls", "tasks and counts", "looking", overview),
  entry("show", "everything about one task", "looking", overview),
  entry("diff", "what a task changed", "looking", mergeDiff),
  entry("tree", "tasks and their children", "looking", overview),
  entry("why", "why a task is not moving", "looking", overviewWhy),
  entry("status", "the run's checkpoint and workers", "looking", status),
  entry("report", "the morning: what needs you, done, cost", "looking", overviewReport),
  entry("export", "board and report as static pages", "looking", overviewExport),
  entry("top", "the run, live: tasks, workers, gate, cost", "looking", overviewTop),
  entry("watch", "changes as they happen", "looking", overview),
  entry("logs", "the log of a task, or of all workers", "looking", queueLogs),
  entry("ledger tail", "the last events; -f as they happen", "looking", overviewLedger),
  entry("ledger show", "the record, filtered", "looking", overviewLedger),
  entry(
    "ledger verify",
    "whether closed files of the record are as they were",
    "care",
    overviewLedger,
  ),
  entry("ledger export", "the record as JSON lines or CSV", "care", overviewLedger),
  entry("costs", "dollars, tokens, proven tasks", "looking", models),
  entry("prices", "price of each model", "looking", engines),
  entry("engines", "installed engines; dry runs", "care", models),
  entry("accounts", "state of each account; open, close", "care", engines),
  entry("gate", "slots for engines: holders and queue", "care", gate),
  entry("notify ls", "targets of notifications; messages and their states", "looking", notify),
  entry("notify test", "send a test message", "care", notify),
  entry("notify retry", "send failed messages again", "care", notify),
  entry("workspaces", "folders of tasks; gc removes landed ones", "care", work),
  entry("service", "run a worker and a reaper with systemd", "care", fleet),
  entry("serve", "the page and the API of a run, over HTTP", "looking", server),
  entry("token", "the token for changes over HTTP; a login link", "care", server),
  entry("pause", "claim nothing more in this run", "care", queueMaintenance),
  entry("resume", "let a paused run go on", "care", queueMaintenance),
  entry("config check", "all mistakes in viv.toml", "care", settings),
  entry("config show", "every setting, and what it came from", "looking", settings),
  entry("runs", "all runs of yours, with state", "looking", workRuns),
  entry("archive", "pack a run, or restore it", "care", workRuns),
  entry("rm", "remove a run", "care", workRuns),
  entry("reap", "release the claims of dead workers", "care", queueMaintenance),
  entry("doctor", "check every invariant, repair with --fix", "care", queueMaintenance),
];

/** Commands of two words and more: what the first word is about. */
const families: Catalog["families"] = {
  crew: { summary: "standing agents: up, ps, tick, pause, resume, stop", group: "workers" },
  keeper: { summary: "a single standing agent: up", group: "workers" },
  board: {
    summary: "a board in git: init, ls, show, next, claim, advance, bounce, open, log, audit",
    group: "tasks",
  },
  config: { summary: "viv.toml: check, show", group: "care" },
  warrant: { summary: "suspects: file, ls, show, screen, withdraw", group: "workers" },
  dog: { summary: "the warden's dogs: status, pool, dances, warrants", group: "looking" },
  ledger: { summary: "the record of all events: tail, show, verify, export", group: "looking" },
  warden: {
    summary: "the supervisor of the dogs: up, status, receipts, pause, resume",
    group: "care",
  },
  notify: { summary: "notifications: ls, test, retry", group: "care" },
  schedule: { summary: "tasks at fixed times: ls, run, pause, resume", group: "tasks" },
  pit: { summary: "the snake pit: init, toss, status, sweep", group: "tasks" },
};

/** Commands that are not renderings of an operation. */
const others: Catalog["others"] = [
  { name: "demo", summary: "a fleet at work, with its page" },
  { name: "completion", summary: "completion for bash, zsh or fish" },
  { name: "help", summary: "help on a command" },
  { name: "version", summary: "the version" },
];

export const CATALOG: Catalog = { commands, families, others };

function entry(
  name: string,
  summary: string,
  group: Group,
  load: () => Promise<{ commands: Record<string, Command> }>,
): CatalogEntry {
  const find = async () => {
    const command = (await load()).commands[name];
    if (command === undefined) throw new Error(`no command is called ${name}`);
    return command;
  };
  return { name, summary, group, load: find };
}
