import { setTimeout as delay } from "node:timers/promises";
import { VivError } from "../../base/errors.ts";
import { growingPause } from "../../base/growing-pause.ts";
import type { Tmux } from "../../platform/tmux/tmux.ts";
import type { Question } from "../question.ts";
import {
  type Agent,
  agentLook,
  type Input,
  isBarePrompt,
  lineLook,
  readRow,
  type Screen,
} from "./agent-screen.ts";
import { agentIn, foregroundOf, modeOf } from "./foreground-programs.ts";
import { mayType } from "./may-type.ts";
import type { Pane } from "./tmux-sessions.ts";

/**
 * Types a question to a pane, once for its nonce. The pane itself remembers: the command of tmux's
 * server that pastes the text also sets `@viv-asked`, and only if it did not have this nonce before;
 * `@viv-sent` likewise with Enter. So after a crash it is neither typed again nor left unsent. Only
 * another question replaces the marks.
 *
 * Enter is sent only while the text is seen, alone and settled, in an input that takes it: anywhere
 * else it could answer something else. Text that was not sent is erased; once Enter was sent nothing
 * is: a slow program may be reading it just then, and would submit the rest.
 */

type Typed =
  | { is: "typed" }
  /** It waits for a person. */
  | { is: "waits"; why: string }
  | { is: "refused"; why: string };

/** To an agent with an input box, to a shell, or to a program that reads lines. */
type HowToType = { as: Agent | "shell" | "lines" };

/** Whether and how the pane may be typed to, judged by its program. */
export function howToType(
  pane: Pane,
  isShell: boolean,
  ask: readonly string[] = [],
): HowToType | { no: string; isShell?: true } {
  if (pane.isDead) return { no: "its program has ended" };
  if (pane.isInputOff) return { no: "its input is switched off" };
  if (pane.isSynchronized) return { no: "its input goes to other panes too" };
  const foreground = foregroundOf(pane);
  const agent = agentIn(foreground);
  if (agent !== null) return { as: agent };
  const answer = mayType(foreground, ask, pane.mayAsk);
  if (answer.is === "no") return { no: answer.why };
  if (answer.is === "yes") return { as: "lines" };
  if (isShell || pane.isShell) return { as: "shell" };
  const why = `${answer.program} is in the foreground: a shell's prompt that would run it as a command`;
  return { no: `${why} (--shell lets it be asked in a comment)`, isShell: true };
}

/** How long a program may take to show what becomes of a question. */
export interface TypingPatience {
  /** An input that can be typed to. */
  seenMs: number;
  /** The text in its input. */
  arrivesMs: number;
  /** The input without the text, after the first Enter. */
  leavesMs: number;
  /** The same after the second: a program that has just started takes seconds on a busy machine. */
  submittedMs: number;
}

const PATIENCE: TypingPatience = {
  seenMs: 3_000,
  arrivesMs: 8_000,
  leavesMs: 3_000,
  submittedMs: 10_000,
};
/** An Enter that follows a paste more closely is taken for a part of it (gemini: 40 ms). */
const SETTLES_MS = 250;
const CHANGED = "its program changed while it was to be asked";
const TYPING = "a person has begun to type in its input; that was left as it is";
const UNREAD = "its input does not react: an earlier question was never seen in it";
const STAYS = "the question stayed in its input: Enter did not submit it";
const SUBMITTED = { is: "typed" } as const;
const NONCE = /^[A-Za-z0-9_-]{4,64}$/;

interface InputState {
  input: Input;
  /** The text is in the input, and nothing else is. */
  hasText: boolean;
  cursor: { x: number; y: number };
  width: number;
  program: string;
}

export class QuestionTyper {
  readonly #tmux: Tmux;
  readonly #pane: Pane;
  readonly #nonce: string;
  #text: string;
  readonly #as: HowToType["as"];
  readonly #isNamed: boolean;
  readonly #patience: TypingPatience;
  /** This process has just pasted it: then a fold in the empty box is it. */
  #isOurs = false;

  constructor(
    tmux: Tmux,
    pane: Pane,
    question: Question,
    { as }: HowToType,
    { isNamed, patience }: { isNamed: boolean; patience?: Partial<TypingPatience> },
  ) {
    // It becomes a part of tmux commands.
    if (!NONCE.test(question.nonce)) {
      const message = `a nonce must be 4 to 64 of A-Z a-z 0-9 _ -, not "${question.nonce}".`;
      throw new VivError("INVALID", message);
    }
    this.#tmux = tmux;
    this.#pane = pane;
    this.#nonce = question.nonce;
    this.#as = as;
    this.#isNamed = isNamed;
    this.#patience = { ...PATIENCE, ...patience };
    const isAgent = as !== "shell" && as !== "lines";
    this.#text = isAgent ? question.typedToAgent : question.typed;
    // Not every shell has comments at its prompt: the words after it are harmless, too.
    if (as === "shell") this.#text = `# ${question.typed}`;
  }

  async ask(): Promise<Typed> {
    if (await this.#isMarked("@viv-sent")) {
      return (await this.#see()).hasText ? { is: "refused", why: STAYS } : SUBMITTED;
    }
    if (!(await this.#isMarked("@viv-asked"))) {
      const refusal = await this.#paste();
      if (refusal !== null) return refusal;
    }
    const settled = await this.#settled();
    if (settled === null) {
      // Another warden may have sent it meanwhile.
      if (await this.#isMarked("@viv-sent")) return SUBMITTED;
      if (!(await this.#takeBack())) {
        const { id } = this.#pane;
        await this.#tmux.run(["set-option", "-p", "-t", id, "@viv-unread", this.#nonce]);
      }
      return { is: "refused", why: "the question was not seen in its input, so it was not sent" };
    }
    if (!(await this.#enter(settled, this.#nonce))) {
      await this.#takeBack();
      return { is: "refused", why: CHANGED };
    }
    if (await this.#hasLeft(this.#patience.leavesMs)) return SUBMITTED;
    const again = await this.#settled();
    if (again !== null) await this.#enter(again, `${this.#nonce}-again`);
    if (await this.#hasLeft(this.#patience.submittedMs)) return SUBMITTED;
    return { is: "refused", why: STAYS };
  }

  /** Null when the text is pasted, by us or by another warden. */
  async #paste(): Promise<Typed | null> {
    const mode = await modeOf(this.#pane.tty);
    if (mode === "secret") return { is: "waits", why: "asks for a password" };
    if (this.#as === "lines" && mode !== "lines" && !this.#isNamed) {
      const why = "its program reads keys, and is not named in [warden] ask";
      return { is: "refused", why };
    }
    if (await this.#hasUnread()) return { is: "refused", why: UNREAD };
    let state = await this.#awaitState(({ input }) => this.#isFree(input), this.#patience.seenMs);
    if (state.input.is === "box" && isOurQuestion(state.input.text)) {
      await this.#erase(state, state.input.text.length);
      state = await this.#awaitState(({ input }) => this.#isFree(input), this.#patience.seenMs);
    }
    const { input } = state;
    if (input.is === "person") return { is: "waits", why: input.what };
    if (input.is === "none") return { is: "refused", why: "no input is seen on its screen" };
    if (!this.#isFree(input)) return { is: "refused", why: TYPING };
    // Text that ends with its row would leave the cursor at the edge, or on the next row.
    if ((state.cursor.x + this.#text.length) % state.width === 0) this.#text += " please";
    const buffer = `viv-${this.#nonce}`;
    await this.#tmux.run(["load-buffer", "-b", buffer, "-"], this.#text);
    const was = `#{==:#{@viv-asked},${this.#nonce}}`;
    await this.#unless(`#{||:${was},${differs(state)}}`, [
      `set-option -p -t '${this.#pane.id}' @viv-asked '${this.#nonce}'`,
      `copy-mode -q -t '${this.#pane.id}'`,
      `paste-buffer -d -p -b '${buffer}' -t '${this.#pane.id}'`,
    ]);
    this.#isOurs = true;
    if (await this.#isMarked("@viv-asked")) return null;
    await this.#tmux.run(["delete-buffer", "-b", buffer]);
    return { is: "refused", why: CHANGED };
  }

  #isFree(input: Input): boolean {
    if (input.is === "box") return input.text === "";
    return input.is === "line" && isBarePrompt(input.before);
  }

  /** The text, seen in one place for a while; null when it does not come, or other text does. */
  async #settled(): Promise<InputState | null> {
    const end = performance.now() + this.#patience.arrivesMs;
    let before: InputState | null = null;
    let since = 0;
    for (;;) {
      const state = await this.#see();
      const isSame = state.hasText && before !== null && placeOf(before) === placeOf(state);
      if (!isSame) since = performance.now();
      if (isSame && performance.now() - since >= SETTLES_MS) return state;
      before = state.hasText ? state : null;
      if (performance.now() > end) return null;
      await delay(50);
    }
  }

  /** False when it may not be sent any more. Not sent twice. */
  async #enter(state: InputState, mark: string): Promise<boolean> {
    await this.#unless(`#{||:${differs(state)},#{==:#{@viv-sent},${mark}}}`, [
      `set-option -p -t '${this.#pane.id}' @viv-sent '${mark}'`,
      `copy-mode -q -t '${this.#pane.id}'`,
      `send-keys -t '${this.#pane.id}' Enter`,
    ]);
    return this.#isMarked("@viv-sent");
  }

  async #hasLeft(withinMs: number): Promise<boolean> {
    const state = await this.#awaitState(({ hasText }) => !hasText, withinMs);
    return !state.hasText;
  }

  /** Erases our text while it is seen alone; whether it was. */
  async #takeBack(): Promise<boolean> {
    const state = await this.#see();
    if (state.hasText) await this.#erase(state, this.#text.length);
    return state.hasText;
  }

  /** A program that has not shown one question gets no second one until the first shows up. */
  async #hasUnread(): Promise<boolean> {
    if ((await this.#show("#{@viv-unread}")).trim() === "") return false;
    const { input } = await this.#see();
    if (input.is !== "box" || !isOurQuestion(input.text)) return true;
    await this.#tmux.run(["set-option", "-p", "-u", "-t", this.#pane.id, "@viv-unread"]);
    return false;
  }

  async #erase(state: InputState, count: number): Promise<void> {
    await this.#unless(differs(state), [`send-keys -t '${this.#pane.id}' -N ${count} BSpace`]);
  }

  async #awaitState(isSo: (state: InputState) => boolean, limitMs: number): Promise<InputState> {
    const end = performance.now() + limitMs;
    for (let looks = 1; ; looks++) {
      const pause = growingPause(looks, { first: 15, longest: 150, factor: 1.5 });
      const state = await this.#see();
      if (isSo(state) || performance.now() + pause > end) return state;
      if (state.input.is === "person") return state;
      await delay(pause);
    }
  }

  async #see(): Promise<InputState> {
    const format = "#{cursor_x} #{cursor_y} #{cursor_flag} #{pane_width} #{pane_current_command}";
    const shown = await this.#tmux.run([
      ...["display-message", "-p", "-t", this.#pane.id, format, ";"],
      ...["capture-pane", "-p", "-e", "-t", this.#pane.id],
    ]);
    const { screen, rest } = screenFrom(shown);
    const input =
      this.#as === "shell" || this.#as === "lines"
        ? lineLook(screen)
        : agentLook(this.#as, screen).input;
    const { x, y } = screen.cursor;
    const [width = "80", ...program] = rest.split(" ");
    return {
      ...{ input, hasText: this.#hasText(input, screen), cursor: { x, y } },
      ...{ width: Number(width), program: program.join(" ") },
    };
  }

  #hasText(input: Input, screen: Screen): boolean {
    const text = flat(this.#text);
    if (input.is === "box")
      return flat(input.text) === text || (this.#isOurs && isFolded(input.text));
    // A program that reads lines has no frame: the text before the cursor, maybe wrapped, is it.
    const { x, y } = screen.cursor;
    const rows = screen.rows.map((row) => readRow(row).text);
    const before = [...rows.slice(Math.max(0, y - 8), y), (rows[y] ?? "").slice(0, x)].join("");
    return flat(rows[y]?.slice(0, x) ?? "") !== "" && flat(before).endsWith(text);
  }

  /** In one command of tmux's server, so that nothing comes between check and act. */
  async #unless(condition: string, commands: readonly string[]): Promise<void> {
    const check = ["if-shell", "-F", "-t", this.#pane.id, condition, ""];
    await this.#tmux.run([...check, commands.join(" ; ")]);
  }

  #show(format: string): Promise<string> {
    return this.#tmux.run(["display-message", "-p", "-t", this.#pane.id, format]);
  }

  async #isMarked(option: string): Promise<boolean> {
    const values = [this.#nonce, `${this.#nonce}-again`];
    const found = values.map((value) => `#{==:#{${option}},${value}}`).join("");
    return (await this.#show(found)).includes("1");
  }
}

/** A question of ours, alone in the box: not submitted by Enter, or not yet. */
export function isOurQuestion(text: string): boolean {
  return /^Wardenhealthcheck\w*onalinebyitself(isenough)?(please)?$/.test(flat(text));
}

/** A paste that the program shows folded, and nothing beside it. */
function isFolded(text: string): boolean {
  return /^\[Pasted [^\]]*\]$/i.test(text.trim());
}

const placeOf = ({ cursor, program }: InputState) => `${cursor.x} ${cursor.y} ${program}`;

/** A format that is true when the cursor is elsewhere, or another program is in the foreground. */
function differs({ cursor, program }: InputState): string {
  // A paste into a dead pane ends the whole server (seen with tmux 3.3a).
  const place = `#{||:#{!=:#{cursor_x},${cursor.x}},#{!=:#{cursor_y},${cursor.y}}}`;
  const moved = `#{||:#{pane_dead},${place}}`;
  // A name with other characters cannot be written in a format.
  if (!/^[\w.+-]+$/.test(program)) return moved;
  return `#{||:${moved},#{!=:#{pane_current_command},${program}}}`;
}

/** Cursor position and flag, `rest` of that line, then the rows. */
export function screenFrom(text: string): { screen: Screen; rest: string } {
  const [head = "", ...rows] = text.replace(/\n$/, "").split("\n");
  const [x = "0", y = "0", flag = "1", ...rest] = head.split(" ");
  const cursor = { x: Number(x), y: Number(y), isVisible: flag === "1" };
  return { screen: { rows, cursor }, rest: rest.join(" ") };
}

/** Letters and digits: a box breaks a text anywhere, and has a border. */
function flat(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, "");
}
