import type { AskedPrograms } from "../dance.ts";
import type { Question } from "../question.ts";
import { wasAsked } from "./asked-programs.ts";
import { isNamed } from "./may-type.ts";
import type { SessionView } from "./session-view.ts";
import type { Asked } from "./suspect.ts";
import { agentIn, argvOf, foregroundOf } from "./tmux-foreground.ts";
import type { Pane } from "./tmux-sessions.ts";
import { typeQuestion } from "./type-question.ts";

/** In one session. */
const MOST_ASKED = 20;

/**
 * Types the question to all panes that can be asked: known agents, and programs that a person has
 * named. `except` lists what could not be asked and is no idle shell: it must not be ended.
 */
export async function askPanes(
  view: SessionView,
  question: Question,
  programs: AskedPrograms,
  onFirst: (pane: Pane) => void,
): Promise<Asked> {
  const panes = view.panesToAsk();
  const [first] = panes;
  if (first === undefined) return { is: "refused", why: whyNoPane(view) };
  onFirst(first);
  const channels: string[] = [];
  const missed: string[] = unaskable(view);
  for (const [at, pane] of panes.entries()) {
    const how: ReturnType<SessionView["howToType"]> =
      at < MOST_ASKED ? view.howToType(pane) : { no: `it is one of more than ${MOST_ASKED}` };
    if ("no" in how) {
      missed.push(`pane ${pane.id}: ${how.no}`);
      continue;
    }
    const isAllowed = isNamed(foregroundOf(pane), view.ask);
    const typed = await typeQuestion(view.tmux, pane, question, how, isAllowed);
    if (typed.is === "waits") return typed;
    if (typed.is === "refused") missed.push(`pane ${pane.id}: ${typed.why}`);
    else channels.push(`pane ${pane.id}`);
  }
  if (channels.length === 0) return { is: "refused", why: missed.join("; ") };
  await view.refresh();
  const changed = view.whyNotAllAsked(programs, []);
  missed.push(...(changed === null ? [] : [changed]), ...inBackground(view, programs));
  const except = missed.length === 0 ? undefined : missed.join("; ");
  return { is: "asked", channel: channels.join(", "), arrived: true, submitted: true, except };
}

/** Agents that no terminal shows: they cannot be asked. */
function inBackground(view: SessionView, programs: AskedPrograms): string[] {
  return view.tree([]).flatMap(({ pid, command }) => {
    const program = { pid, argv: argvOf(pid), comm: "", hasTerminal: true };
    const isAgent = agentIn([program]) !== null || isNamed([program], view.ask);
    if (!isAgent || wasAsked(programs, pid)) return [];
    return [`process ${pid} (${command}) runs in the background`];
  });
}

/** In live panes: neither to be typed to, nor a shell that waits for a command. */
function unaskable(view: SessionView): string[] {
  return view.livePanes().flatMap((pane) => {
    const how = view.howToType(pane);
    return "no" in how && how.isShell !== true ? [`pane ${pane.id}: ${how.no}`] : [];
  });
}

function whyNoPane(view: SessionView): string {
  const whys = view.livePanes().map((pane) => {
    const how = view.howToType(pane);
    return `pane ${pane.id}: ${"no" in how ? how.no : "it may be asked"}`;
  });
  return whys.join("; ");
}
