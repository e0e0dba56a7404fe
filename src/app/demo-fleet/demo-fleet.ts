import { type ChildProcess, spawn } from "node:child_process";
import { createColors } from "picocolors";
import { messageOf } from "../../base/errors.ts";
import { wantsColor } from "../../operation/term.ts";
import { untilAborted } from "../../platform/machine-retry.ts";
import { openRun } from "../open-run.ts";
import { direct } from "./director.ts";
import { startFleet } from "./fleet-up.ts";
import { momentText } from "./moment-text.ts";
import { Moments, WITH_TMUX } from "./moments.ts";
import { clearPlace, deadPlaces, newPlace } from "./place.ts";
import { startSuspects, stopSuspects } from "./suspects.ts";
import { makeWorld } from "./world.ts";

export interface DemoOptions {
  program: { node: string; viv: string };
  signal: AbortSignal;
  /** Opens the page in a browser where there is one. */
  opens: boolean;
  color: boolean;
  /** 1 is the usual one, less is faster. */
  pace: number;
}

/**
 * `viv demo`: a whole fleet in a folder of its own, with its page, until Ctrl-C. Nothing is left
 * behind: a guard ends it and removes the folder when this process is killed, and the next demo does
 * it if the guard was killed, too.
 */
export async function demoFleet({
  program,
  signal: given,
  opens,
  color: isColored,
  pace,
}: DemoOptions): Promise<number> {
  const out = process.stdout;
  const color = createColors(isColored && wantsColor(process.env, out.isTTY === true));
  const say = (text: string) => void out.write(`${text}\n`);
  const start = performance.now();
  const orphaned = whenOrphaned();
  const signal = AbortSignal.any([given, orphaned.signal]);
  for (const folder of deadPlaces()) {
    await clearPlace(folder);
    say(color.dim(`removed what a demo that was killed had left: ${folder}`));
  }
  const folder = newPlace();
  const guard = startGuard(folder, program);
  let status = 0;
  const endings: (() => Promise<unknown>)[] = [];
  try {
    say(color.dim("making two repositories, a run, a pit and a newsroom …"));
    const world = await makeWorld(folder, program, pace, signal);
    endings.unshift(() => stopSuspects(world));
    if (world.tmux === null)
      say(color.yellow("tmux is not installed, so the warden's part is left out"));
    else await startSuspects(world);
    signal.throwIfAborted();
    const fleet = await startFleet(world, program, (message) => say(color.yellow(`  ${message}`)));
    endings.unshift(() => fleet.stop());
    const { link = fleet.address } = JSON.parse(
      await world.viv("token", "--link", "--json", "--run", "run"),
    ) as { link?: string };
    const store = await openRun(world.run);
    endings.unshift(() => store.close());
    const moments = new Moments(world.run, (moment) =>
      say(momentText(moment, { ms: performance.now() - start, width: out.columns ?? 0 }, color)),
    );
    endings.unshift(async () => moments.close());
    if (world.tmux === null) for (const key of WITH_TMUX) moments.skip(key);
    say(`\n${color.bold("The demo fleet is up")}: ${color.cyan(link)}`);
    say(color.dim(`That link logs your browser in, once; then it is ${fleet.address}`));
    say(color.dim(`The commands below work in another terminal after:  . ${folder}/shell`));
    say(
      color.dim(
        `All of it is in ${folder} and goes with Ctrl-C. No model runs: the agents are stand-ins, their cost is made up.\n`,
      ),
    );
    if (opens) openBrowser(link);
    moments.tell(
      "up",
      `the fleet is up: three workers, a merge queue, a newsroom, a pit${world.tmux === null ? "" : ", a warden"} and this page`,
      "fleet",
      "viv ps",
    );
    const directing = direct({ store, world, moments, pace, signal });
    await Promise.race([directing.then(() => untilAborted(signal)), fleet.ended]);
    if (!signal.aborted) throw new Error("viv up has ended");
  } catch (error) {
    if (!signal.aborted) {
      status = 1;
      process.stderr.write(`viv: the demo failed: ${messageOf(error)}\n`);
    }
  }
  orphaned.stop();
  say(color.dim("\nstopping; nothing is left behind …"));
  for (const end of endings) await end().catch(() => {}); // what does not end is ended below
  const isClean = await clearPlace(folder);
  guard.kill("SIGKILL");
  if (!isClean)
    process.stderr.write(`viv: processes of the demo are left; see: viv demo --clean ${folder}\n`);
  return status === 0 && given.aborted ? 130 : status;
}

/** A shell that waits until our end of its stdin closes, and then cleans up. */
function startGuard(folder: string, { node, viv }: DemoOptions["program"]): ChildProcess {
  const script = 'cat >/dev/null; exec "$@"';
  const guard = spawn(
    "/bin/sh",
    ["-c", script, "viv-demo-guard", node, viv, "demo", "--clean", folder],
    {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    },
  );
  guard.on("error", () => {}); // then the next demo cleans up
  guard.unref();
  return guard;
}

const LOOK_MS = 1_000;

/** npm that is killed says nothing to what it has started. */
function whenOrphaned(): { signal: AbortSignal; stop(): void } {
  const orphaned = new AbortController();
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parent) orphaned.abort();
  }, LOOK_MS);
  timer.unref();
  return { signal: orphaned.signal, stop: () => clearInterval(timer) };
}

/** Only where a person sits in front of a screen. */
function openBrowser(link: string): void {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  const isMac = process.platform === "darwin";
  if (process.stdout.isTTY !== true || !(isMac || DISPLAY || WAYLAND_DISPLAY)) return;
  const opener = spawn(isMac ? "open" : "xdg-open", [link], { detached: true, stdio: "ignore" });
  opener.on("error", () => {}); // the link is printed, too
  opener.unref();
}
