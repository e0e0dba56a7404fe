import { closeSync, constants, openSync, readSync } from "node:fs";
import { type Tmux, TmuxTrouble } from "../../platform/tmux/tmux.ts";
import { type Question, wordingsOf } from "../question.ts";

/**
 * Unread questions wait in the terminal for its next reader: when a program ends that never read, its
 * shell gets them. So they are read here, and are gone; what a person typed in between is typed again.
 */
export async function takeBackQuestions(
  tmux: Tmux,
  questions: readonly Question[],
  isReading: (pane: { id: string; pid: number; tty: string }) => boolean,
): Promise<void> {
  try {
    const panes = (await tmux.run(["list-panes", "-a", "-F", FORMAT])).split("\n");
    for (const line of new Set(panes)) {
      const [id = "", pid, tty = "", dead, asked, unread = "-"] = line.split(" ");
      const isOurs = questions.some(({ nonce }) => nonce === asked);
      if (!isOurs || dead !== "0" || tty === "") continue;
      // An agent that has shown its questions reads: only keys of a person could be waiting there.
      if (unread === "-" && isReading({ id, pid: Number(pid), tty })) continue;
      await takeBack(tmux, id, tty, questions);
    }
  } catch (error) {
    if (!(error instanceof TmuxTrouble)) throw error; // its server is gone, and the terminals with it
  }
}

/** Only a nonce of ours: the option may have any text in it. */
const mark = (option: string) => `#{?#{m/r:^[A-Za-z0-9_-]+$,#{${option}}},#{${option}},-}`;
const FORMAT = `#{pane_id} #{pane_pid} #{pane_tty} #{pane_dead} ${mark("@viv-asked")} ${mark("@viv-unread")}`;

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

/** All that can be read at once: whole lines, or, where keys are read one by one, all of them. */
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
