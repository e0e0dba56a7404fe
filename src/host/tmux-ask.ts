import { setTimeout as delay } from "node:timers/promises";
import { VivError } from "../model/errors.ts";
import type { Question } from "../model/question.ts";
import { asComments, type MayType, mayType } from "./may-type.ts";
import type { Tmux } from "./tmux.ts";
import { foregroundOf, waitsForSecret } from "./tmux-foreground.ts";
import type { Pane } from "./tmux-sessions.ts";

/**
 * Types a question to a pane, once for its nonce. The pane itself remembers: `@viv-asked` is set in
 * the same command of tmux's server that pastes the text, and only if it was not set to this nonce
 * before; `@viv-sent` likewise with Enter. So whoever comes after a crash neither types it again nor
 * leaves it unsent. The marks stay: only another question replaces them.
 */

export type Typed =
  | { is: "typed"; arrived: boolean; submitted: boolean }
  | { is: "refused"; why: string };

/** Whether the pane may be typed to now, and how. */
export function howToType(pane: Pane, isShell: boolean): MayType {
  if (pane.isDead) return { is: "no", why: "its program has ended" };
  if (pane.isInputOff) return { is: "no", why: "its input is switched off" };
  if (pane.isSynchronized) return { is: "no", why: "its input goes to other panes too" };
  if (waitsForSecret(pane.tty)) return { is: "no", why: "it waits for a password" };
  const answer = mayType(foregroundOf(pane));
  if (answer.is !== "shell" || isShell || pane.isShell) return answer;
  const why = `${answer.program} is in the foreground: a shell's prompt that would run it as a command`;
  return { is: "no", why };
}

const ARRIVES_WITHIN_MS = 1_800;
const SUBMITTED_WITHIN_MS = 900;
/**
 * Controls, and what makes a text more than words to a shell: anybody may write a reason, and a
 * program may end, or be a shell that nobody knows, just when it is typed.
 */
const UNTYPED = /[\p{Cc}`$;|&<>\\]+/gu;
const CHANGED = "its program changed while it was to be asked";
const NONCE = /^[A-Za-z0-9_-]{4,64}$/;

export async function askPane(
  tmux: Tmux,
  pane: Pane,
  question: Question,
  isShell: boolean,
): Promise<Typed> {
  const { nonce } = question;
  if (!NONCE.test(nonce)) {
    throw new VivError("INVALID", `a nonce must be 4 to 64 of A-Z a-z 0-9 _ -, not "${nonce}".`);
  }
  const typing = new Typing(tmux, pane, question, isShell);
  const refusal = await typing.paste();
  if (refusal !== null) return { is: "refused", why: refusal };
  const arrived = await typing.sees(ARRIVES_WITHIN_MS, (screen) => screen.hasArrived);
  // Pasted, but never sent: nobody was asked, so nobody may be found silent.
  if (!(await typing.enter("", nonce))) return { is: "refused", why: CHANGED };
  const hasLeft = (screen: Screen) => !screen.isInInput;
  if (!arrived || (await typing.sees(SUBMITTED_WITHIN_MS, hasLeft))) {
    return { is: "typed", arrived, submitted: arrived };
  }
  // Some programs take an Enter that follows a paste too closely for a part of it.
  await typing.enter(nonce, `${nonce}-again`);
  return { is: "typed", arrived, submitted: await typing.sees(SUBMITTED_WITHIN_MS, hasLeft) };
}

interface Screen {
  hasArrived: boolean;
  /** The end of the question is just before the cursor. */
  isInInput: boolean;
}

class Typing {
  readonly #tmux: Tmux;
  readonly #pane: Pane;
  readonly #nonce: string;
  readonly #lines: readonly string[];
  readonly #isShell: boolean;

  constructor(tmux: Tmux, pane: Pane, question: Question, isShell: boolean) {
    this.#tmux = tmux;
    this.#pane = pane;
    this.#nonce = question.nonce;
    this.#lines = question.lines.map((line) => line.replace(UNTYPED, " "));
    this.#isShell = isShell;
  }

  /** Null when the text is there, or was before; else why not. */
  async paste(): Promise<string | null> {
    if (await this.#is("@viv-asked", this.#nonce)) return null;
    const before = await this.#program();
    const how = howToType(this.#pane, this.#isShell);
    if (how.is === "no") return how.why;
    const lines = how.is === "shell" ? asComments(this.#lines) : this.#lines;
    const buffer = `viv-${this.#nonce}`;
    await this.#tmux.run(["load-buffer", "-b", buffer, "-"], lines.join("\n"));
    const was = `#{==:#{@viv-asked},${this.#nonce}}`;
    await this.#unless(`#{||:${was},${differs(before)}}`, [
      `set-option -p -t '${this.#pane.id}' @viv-asked '${this.#nonce}'`,
      `copy-mode -q -t '${this.#pane.id}'`,
      // What somebody has begun to write at the prompt would be run together with ours.
      ...(how.is === "shell" ? [`send-keys -t '${this.#pane.id}' C-u`] : []),
      `paste-buffer -d -p -b '${buffer}' -t '${this.#pane.id}'`,
    ]);
    if (await this.#is("@viv-asked", this.#nonce)) return null;
    await this.#tmux.run(["delete-buffer", "-b", buffer]);
    return CHANGED;
  }

  /** False when it may not be sent any more. Nothing is done if it was before. */
  async enter(from: string, to: string): Promise<boolean> {
    const sent = [this.#nonce, `${this.#nonce}-again`];
    if (from === "" && (await this.#isOneOf("@viv-sent", sent))) return true;
    const before = await this.#program();
    if (howToType(this.#pane, this.#isShell).is === "no") return false;
    const isRight =
      from === ""
        ? `#{!=:#{@viv-sent},${to}}` // and not the other: see above
        : `#{==:#{@viv-sent},${from}}`;
    await this.#unless(`#{||:${differs(before)},#{?${isRight},0,1}}`, [
      `set-option -p -t '${this.#pane.id}' @viv-sent '${to}'`,
      `copy-mode -q -t '${this.#pane.id}'`,
      `send-keys -t '${this.#pane.id}' Enter`,
    ]);
    return this.#isOneOf("@viv-sent", sent);
  }

  async sees(limitMs: number, isSo: (screen: Screen) => boolean): Promise<boolean> {
    const end = performance.now() + limitMs;
    for (let pause = 15; ; pause = Math.min(pause * 1.5, 150)) {
      if (isSo(await this.#look())) return true;
      if (performance.now() + pause > end) return false;
      await delay(pause);
    }
  }

  async #look(): Promise<Screen> {
    const target = ["-t", this.#pane.id];
    const text = await this.#tmux.run([
      ...["display-message", "-p", ...target, "#{cursor_x} #{cursor_y}", ";"],
      ...["capture-pane", "-p", ...target],
    ]);
    const [cursor = "", ...rows] = text.split("\n");
    const [x = 0, y = 0] = cursor.split(" ").map(Number);
    const line = (rows[y] ?? "").slice(0, x);
    const beforeCursor = [...rows.slice(0, y), line].join("");
    const tail = flat(this.#lines.at(-1) ?? "").slice(-8);
    const screen = flat(rows.join(""));
    return {
      // Some programs show a long paste as a note only.
      hasArrived: screen.includes(flat(this.#nonce)) || /\[Pasted ?text/i.test(rows.join(" ")),
      isInInput: flat(line) !== "" && flat(beforeCursor).endsWith(tail),
    };
  }

  /** In one go of tmux's server: nobody comes between the question and the deed. */
  async #unless(condition: string, commands: readonly string[]): Promise<void> {
    const target = ["-t", this.#pane.id];
    await this.#tmux.run(["if-shell", "-F", ...target, condition, "", commands.join(" ; ")]);
  }

  #is(option: string, value: string): Promise<boolean> {
    return this.#isOneOf(option, [value]);
  }

  async #isOneOf(option: string, values: readonly string[]): Promise<boolean> {
    const found = values.map((value) => `#{==:#{${option}},${value}}`).join("");
    return (await read(this.#tmux, this.#pane.id, found)).includes("1");
  }

  /** What tmux takes for the program in the foreground. */
  #program(): Promise<string> {
    return read(this.#tmux, this.#pane.id, "#{pane_current_command}");
  }
}

/** A format that is true when another program is in the foreground now. */
function differs(program: string): string {
  // What else a name may have in it cannot be written in a format.
  return /^[\w.+-]+$/.test(program) ? `#{!=:#{pane_current_command},${program}}` : "0";
}

async function read(tmux: Tmux, pane: string, format: string): Promise<string> {
  return (await tmux.run(["display-message", "-p", "-t", pane, format])).replace(/\n$/, "");
}

/** A text in a box is broken into lines anywhere, and has a border. */
function flat(text: string): string {
  return text.replace(/[^\p{L}\p{N}_-]+/gu, "");
}
