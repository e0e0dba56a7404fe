import { closeSync, constants, openSync, readSync } from "node:fs";
import { type Tmux, TmuxTrouble } from "../../platform/tmux/tmux.ts";
import type { AskedPrograms } from "../dance.ts";
import { type Question, wordingsOf } from "../question.ts";
import { agentIn, argvOf, foregroundOf, wasAsked } from "./foreground-programs.ts";
import { isNamed } from "./may-type.ts";
import type { SessionView } from "./session-view.ts";
import type { Asked } from "./suspect.ts";
import { ownOption, type Pane } from "./tmux-sessions.ts";
import { QuestionTyper, type TypingPatience } from "./type-question.ts";

/** In one session. */
const MOST_ASKED = 20;
const NO_PANE = "none of its panes can be asked";

/**
 * Types the question to all panes that can be asked: known agents, and programs that a person has
 * named. `except` lists the others that are no idle shells: they must not be ended.
 */
export async function askPanes(
  view: SessionView,
  question: Question,
  programs: AskedPrograms,
  onFirst: (pane: Pane) => void,
  patience?: Partial<TypingPatience>,
): Promise<Asked> {
  const panes = view.panesToAsk();
  const [first] = panes;
  if (first === undefined) return { is: "refused", why: whyNotAsked(view).join("; ") || NO_PANE };
  onFirst(first);
  const channels: string[] = [];
  const missed: string[] = whyNotAsked(view, ({ isShell }) => isShell !== true);
  for (const [at, pane] of panes.entries()) {
    const how: ReturnType<SessionView["howToType"]> =
      at < MOST_ASKED ? view.howToType(pane) : { no: `it is one of more than ${MOST_ASKED}` };
    if ("no" in how) {
      missed.push(`pane ${pane.id}: ${how.no}`);
      continue;
    }
    const given = { isNamed: isNamed(foregroundOf(pane), view.named), patience };
    const typed = await new QuestionTyper(view.tmux, pane, question, how, given).ask();
    if (typed.is === "waits") return typed;
    if (typed.is === "refused") missed.push(`pane ${pane.id}: ${typed.why}`);
    else channels.push(`pane ${pane.id}`);
  }
  if (channels.length === 0) return { is: "refused", why: missed.join("; ") };
  await view.refresh();
  const changed = view.whyNotAllAsked(programs, []);
  missed.push(...(changed === null ? [] : [changed]), ...inBackground(view, programs));
  const except = missed.length === 0 ? undefined : missed.join("; ");
  return { is: "asked", channel: channels.join(", "), except };
}

/** Agents that no terminal shows cannot be asked. */
function inBackground(view: SessionView, programs: AskedPrograms): string[] {
  return view.tree([]).flatMap(({ pid, command }) => {
    const program = { pid, argv: argvOf(pid), comm: "", hasTerminal: true };
    const isAgent = agentIn([program]) !== null || isNamed([program], view.named);
    if (!isAgent || wasAsked(programs, pid)) return [];
    return [`process ${pid} (${command}) runs in the background`];
  });
}

/** Of the live panes that may not be typed to. */
function whyNotAsked(view: SessionView, isMeant = (_: { isShell?: true }) => true): string[] {
  return view.livePanes().flatMap((pane) => {
    const how = view.howToType(pane);
    return "no" in how && isMeant(how) ? [`pane ${pane.id}: ${how.no}`] : [];
  });
}

/**
 * Unread questions wait in the terminal for its next reader: when a program ends that never read, its
 * shell gets them. So they are read here, and are gone; text that a person typed in between is typed again.
 */
export async function takeBackQuestions(tmux: Tmux, questions: readonly Question[]): Promise<void> {
  const format = `#{pane_id} #{pane_pid} #{pane_tty} #{pane_dead} ${ownOption("@viv-asked")} ${ownOption("@viv-unread")}`;
  try {
    const panes = (await tmux.run(["list-panes", "-a", "-F", format])).split("\n");
    for (const line of new Set(panes)) {
      const [id = "", pid, tty = "", dead, asked, unread = "-"] = line.split(" ");
      const isOurs = questions.some(({ nonce }) => nonce === asked);
      if (!isOurs || dead !== "0" || tty === "") continue;
      // An agent that has shown its questions reads: only keys of a person could be waiting there.
      if (unread === "-" && agentIn(foregroundOf({ pid: Number(pid), tty })) !== null) continue;
      await takeBack(tmux, id, tty, questions);
    }
  } catch (error) {
    if (!(error instanceof TmuxTrouble)) throw error; // its server is gone, and the terminals with it
  }
}

async function takeBack(
  tmux: Tmux,
  id: string,
  tty: string,
  questions: readonly Question[],
): Promise<void> {
  const rest = withoutQuestions(readPending(tty), questions);
  await tmux.run(["set-option", "-p", "-u", "-t", id, "@viv-unread"]);
  if (rest === "") return;
  const buffer = `viv-back-${id.slice(1)}`;
  await tmux.run(["load-buffer", "-b", buffer, "-"], Buffer.from(rest, "latin1"));
  const paste = `paste-buffer -d -r -b ${buffer} -t ${id}`;
  await tmux.run(["if-shell", "-F", "-t", id, "#{pane_dead}", `delete-buffer -b ${buffer}`, paste]);
}

/** As bytes (latin1). A paste may be in brackets; a shell's is a comment. */
function withoutQuestions(pending: string, questions: readonly Question[]): string {
  const texts = questions.flatMap(wordingsOf).map((text) => text.replace(/[^\w ]/g, "\\$&"));
  const one = `(?:\x1b\\[200~)?(?:# )?(?:${texts.join("|")})(?: please)?(?:\x1b\\[201~)?[\r\n]?`;
  return pending.replace(new RegExp(one, "g"), "");
}

const MOST_READS = 200;
const END_OF_FILE = "\x04";

/** All that can be read at once: whole lines or, where keys are read one by one, all of them. */
function readPending(tty: string): string {
  let fd: number;
  try {
    fd = openSync(tty, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return ""; // it is gone, or not ours
  }
  const buffer = Buffer.alloc(4096);
  let text = "";
  try {
    for (let reads = 0; reads < MOST_READS; reads++) {
      const length = readSync(fd, buffer);
      text += length === 0 ? END_OF_FILE : buffer.toString("latin1", 0, length);
    }
  } catch {
    // EAGAIN: there is no more
  } finally {
    closeSync(fd);
  }
  return text;
}
