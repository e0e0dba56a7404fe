import { setTimeout as delay } from "node:timers/promises";
import { TmuxTrouble } from "../../platform/tmux/tmux.ts";
import type { AskedPrograms, SeenProcess } from "../dance.ts";
import { startedSince } from "./foreground-programs.ts";
import type { SessionView } from "./session-view.ts";
import type { Ended, EndOptions } from "./suspect.ts";
import { endTargetTree, whyNotNow, whyNotOurs } from "./target-tree.ts";
import type { Pane } from "./tmux-sessions.ts";

/** How often panes are listed while they are being ended: new ones may be opened meanwhile. */
const REFRESH_MS = 250;

/** Ends the programs that were asked. No signal is sent if others would be ended with them. */
export async function endSession(
  view: SessionView,
  known: readonly SeenProcess[],
  { asked, isResumed, killAfterMs }: EndOptions,
): Promise<Ended> {
  const nothing = { exit: [], survivors: [] };
  const seen = await view.refresh();
  if (seen.is === "unknown") return { ...nothing, unknown: seen.why };
  if (seen.is === "gone") view.session = { ...view.session, panes: [] };
  const check = () => whyNotOurs(view.tree(known)) ?? whyNotAsked(view, asked, known);
  const why = isResumed ? check() : whyNotNow(check);
  // Processes that were signalled before a restart are ended for good; newer ones are not touched.
  if (why !== null && !isResumed) return { ...nothing, unknown: why };
  const isKnown = ({ pid }: Pane) => known.some((one) => one.pid === pid);
  const panes = view.session.panes.filter((pane) => why === null || isKnown(pane));
  const later = why === null || !asked ? [] : startedSince(asked, view.tree(known));
  view.limitTree(panes, later);
  const ended = await endTree(view, known, killAfterMs);
  if (ended.survivors.length > 0) return ended;
  for (const { id } of panes) await killPane(view, id, "#{pane_dead}");
  const left = await view.refresh();
  if (left.is === "unknown" && left.isReplaced !== true) return { ...ended, unknown: left.why };
  if (left.is === "there") return { ...ended, spared: whatStays(view) };
  if (left.is === "unknown" || left.hasGuestsOnly !== true) return ended;
  return { ...ended, spared: `its session stays: ${left.why}` };
}

function whyNotAsked(
  view: SessionView,
  asked: AskedPrograms | undefined,
  known: readonly SeenProcess[],
): string | null {
  if (asked === undefined) {
    return "not_asked: it is not known which programs the question was put to";
  }
  const why = view.whyNotAllAsked(asked, known);
  return why === null ? null : `not_asked: ${why}; nothing was ended`;
}

/** The rest of the session after the asked programs have ended. */
function whatStays(view: SessionView): string {
  const live = view.livePanes().map(({ id }) => `pane ${id}`);
  const opened = live.length === 0 ? [] : [`${live.join(", ")}: opened since it was asked`];
  const { owners } = view.session;
  const shown = owners.length === 0 ? [] : [`windows that belong to ${owners.join(", ")}`];
  return `its session stays, with ${[...opened, ...shown].join("; ")}`;
}

async function endTree(
  view: SessionView,
  known: readonly SeenProcess[],
  killAfterMs: number,
): Promise<Ended> {
  let isOver = false;
  const refresh = async () => {
    while (!isOver) {
      await delay(REFRESH_MS);
      if (!isOver) await view.refresh();
    }
  };
  const refreshing = refresh();
  try {
    return await endTargetTree(() => view.treeOf(), known, { killAfterMs });
  } finally {
    isOver = true;
    await refreshing;
  }
}

/** A pane's process, and the name of its foreground program, as far as a format can compare it. */
const IN_FRONT = "#{pane_pid} #{s/[^A-Za-z0-9_.-]//:pane_current_command}";

export async function closeShell(view: SessionView): Promise<boolean> {
  const seen = await view.refresh();
  if (seen.is !== "there" || view.shellLeft() === null) return false;
  for (const { id, pid } of view.session.panes) {
    const shown = await view.tmux.run(["display-message", "-p", "-t", id, IN_FRONT]);
    if (view.shellLeft() === null) return false;
    const isIdle = `#{==:${IN_FRONT},${shown.trim()}}`;
    if (shown.trim().startsWith(`${pid} `)) await killPane(view, id, isIdle);
  }
  return (await view.refresh()).is === "gone";
}

/** If the condition holds at that very moment. */
async function killPane({ tmux }: SessionView, id: string, condition: string): Promise<void> {
  try {
    await tmux.run(["if-shell", "-F", "-t", id, condition, `kill-pane -t '${id}'`]);
  } catch (error) {
    if (!(error instanceof TmuxTrouble)) throw error; // else: the next look shows what is left
  }
}
