import { commandLine, plainPath, quotedWord } from "../../platform/systemd/systemd.ts";

/** What the units of one run are made from. Paths are absolute. */
export interface ServicePlan {
  name: string;
  runDir: string;
  /** Where the worker starts: its handlers do, too. */
  folder: string;
  node: string;
  viv: string;
  /** PATH for handlers: the user manager's own has little in it. Nothing else is handed on. */
  path: string;
  /** `viv work` without the run. */
  workArgs: readonly string[];
  graceMs: number;
}

/** Where the units of one run are. */
export interface ServicePlace {
  /** What they are called after. */
  name: string;
  folder: string;
  /** Where systemd looks for the user's units by itself. */
  searched: string;
}

export interface Unit {
  name: string;
  text: string;
}

/** From the end of the grace until handlers were killed and their tasks released. */
const AFTER_GRACE_SECONDS = 20;

/** The worker, and a timer that gives back what dead workers hold, also when no worker runs. */
export function unitsFor(plan: ServicePlan): Unit[] {
  const { name, runDir, viv, node, workArgs, graceMs } = plan;
  const run = (verb: string, ...args: string[]) =>
    commandLine([node, viv, verb, "--run", runDir, ...args]);
  const stopSeconds = Math.ceil(graceMs / 1000) + AFTER_GRACE_SECONDS;
  return [
    unit(workerUnit(name), runDir, [
      "[Unit]",
      `Description=viv worker of ${name}`,
      "",
      "[Service]",
      `ExecStart=${run("work", ...workArgs)}`,
      ...surroundings(plan),
      "Restart=on-failure",
      "RestartSec=10",
      "# Wrong usage, or no such run: another start does not help.",
      "RestartPreventExitStatus=2 3",
      "# The worker ends its handlers itself; what is left after the time is killed.",
      "KillMode=mixed",
      `TimeoutStopSec=${stopSeconds}`,
      "# A handler that takes too much memory does not stop the others.",
      "OOMPolicy=continue",
      "",
      "[Install]",
      "WantedBy=default.target",
    ]),
    unit(reapUnit(name), runDir, [
      "[Unit]",
      `Description=viv reap for ${name}`,
      "",
      "[Service]",
      "Type=oneshot",
      `ExecStart=${run("reap")}`,
      ...surroundings(plan),
    ]),
    unit(timerUnit(name), runDir, [
      "[Unit]",
      `Description=viv reap for ${name}, every minute`,
      "",
      "[Timer]",
      "OnCalendar=minutely",
      "AccuracySec=10s",
      "",
      "[Install]",
      "WantedBy=timers.target",
    ]),
  ];
}

export function workerUnit(name: string): string {
  return `viv-worker-${name}.service`;
}

export function reapUnit(name: string): string {
  return `viv-reap-${name}.service`;
}

export function timerUnit(name: string): string {
  return `viv-reap-${name}.timer`;
}

/** The first line: a unit that has it was made for this run. */
export function markOf(runDir: string): string {
  return `# Made by \`viv service install\` for the run ${JSON.stringify(runDir)}.`;
}

function unit(name: string, runDir: string, lines: readonly string[]): Unit {
  return { name, text: [markOf(runDir), "", ...lines, ""].join("\n") };
}

function surroundings({ folder, path }: ServicePlan): string[] {
  return [
    `WorkingDirectory=${plainPath(folder, "the folder")}`,
    `Environment=${quotedWord(`PATH=${path}`, "the variable")}`,
  ];
}
