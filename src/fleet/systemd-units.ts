/** The texts of units for systemd. */

/** Which run they are for, and the middle of their names. */
interface UnitPlace {
  name: string;
  runDir: string;
}

/** `isStarted`: by its own name, and not by a timer. */
export type Unit = { name: string; text: string; isStarted: boolean };

/** The worker, and a timer that gives back the claims of dead workers, also when no worker runs. */
export function unitsFor(
  { name, runDir }: UnitPlace,
  work: readonly string[],
  reap: readonly string[],
  stopSeconds: number,
): Unit[] {
  const unit = (unitName: string, lines: readonly string[]): Unit => ({
    name: unitName,
    text: textOf(runDir, lines),
    isStarted: unitName !== reapUnit(name),
  });
  const ends = "# The worker ends its handlers itself; what is left after the time is killed.";
  return [
    unit(workerUnit(name), lasting(`viv worker of ${name}`, work, ends, stopSeconds)),
    unit(reapUnit(name), [
      "[Unit]",
      `Description=viv reap for ${name}`,
      "",
      "[Service]",
      "Type=oneshot",
      ...reap,
    ]),
    unit(timerUnit(name), [
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

/** `viv up`, which ends its parts itself. */
export function fleetUnitFor(
  { name, runDir }: UnitPlace,
  up: readonly string[],
  stopSeconds: number,
): Unit {
  const ends = "# viv up ends its parts itself; what is left after the time is killed.";
  const lines = lasting(`viv up for ${name}`, up, ends, stopSeconds);
  return { name: upUnit(name), text: textOf(runDir, lines), isStarted: true };
}

function textOf(runDir: string, lines: readonly string[]): string {
  return [markOf(runDir), "", ...lines, ""].join("\n");
}

function lasting(
  title: string,
  command: readonly string[],
  ends: string,
  stopSeconds: number,
): string[] {
  return [
    ...["[Unit]", `Description=${title}`, "", "[Service]", ...command],
    ...["Restart=on-failure", "RestartSec=10"],
    "# Wrong usage, or no such run: another start does not help.",
    "RestartPreventExitStatus=2 3",
    ends,
    "KillMode=mixed",
    `TimeoutStopSec=${stopSeconds}`,
    "# A handler that takes too much memory does not stop the others.",
    "OOMPolicy=continue",
    ...["", "[Install]", "WantedBy=default.target"],
  ];
}

export const upUnit = (name: string) => `viv-up-${name}.service`;
export const workerUnit = (name: string) => `viv-worker-${name}.service`;
export const reapUnit = (name: string) => `viv-reap-${name}.service`;
export const timerUnit = (name: string) => `viv-reap-${name}.timer`;

/** The first line: a unit that has it was made for this run. */
export function markOf(runDir: string): string {
  return `# Made by \`viv service install\` for the run ${JSON.stringify(runDir)}.`;
}
