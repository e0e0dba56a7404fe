import { sizesOf, watchSizes } from "../../platform/files/watch.ts";
import { readProcess } from "../../platform/processes/proc-fs.ts";
import { defaultSocket, type Env, TmuxTrouble, tmuxAt } from "../../platform/tmux/tmux.ts";
import { TtyWatch } from "../../platform/tmux/tty-watch.ts";
import type { AskedPrograms, SeenProcess } from "../dance.ts";
import type { Question } from "../question.ts";
import type { BoundSession, Warrant } from "../warrant.ts";
import { workBelow } from "./child-work.ts";
import { askPanes } from "./session-ask.ts";
import { closeShell, endSession } from "./session-end.ts";
import { hasVanished, readScreens } from "./session-screens.ts";
import { SessionView } from "./session-view.ts";
import type { Asked, Ended, EndOptions, Found, Look, Suspect, Work } from "./suspect.ts";
import { whyNotOurs } from "./target-tree.ts";
import { agentIn, foregroundGroup, foregroundOf } from "./tmux-foreground.ts";
import { findSession, readSession, type Seen } from "./tmux-sessions.ts";
import { takeBackQuestions } from "./unread-questions.ts";

export interface SessionOptions {
  /** The warden's own: names the user's tmux server, and the pane that the warden lives in. */
  env?: Env;
  /** For each command of tmux. */
  limitMs?: number;
  /** Whether this nonce was answered by `viv alive`. */
  answered?(nonce: string): boolean;
  /** Names of programs that may be typed to, though they are no known agents. */
  ask?: readonly string[];
}

/** The identity of the session that has this name now. */
export async function bindSession(
  name: string,
  socket: string | null = null,
  options: SessionOptions = {},
): Promise<Seen<{ bound: BoundSession }>> {
  const tmux = tmuxAt(socket ?? defaultSocket(options.env), options);
  const found = await findSession(tmux, name, null);
  if (found.is !== "there") return found;
  const seen = await readSession(tmux, found.bound, name);
  return seen.is === "there" ? found : seen;
}

export async function findSessionSuspect(
  warrant: Warrant,
  options: SessionOptions = {},
): Promise<Found> {
  const { bound } = warrant;
  if (bound?.is === "process") return { is: "unknown", why: "it is bound to a process" };
  const socket = bound?.socket ?? warrant.socket ?? defaultSocket(options.env);
  const tmux = tmuxAt(socket, options);
  const found: Seen<{ bound: BoundSession }> = bound
    ? { is: "there", bound }
    : await findSession(tmux, warrant.target, Date.parse(warrant.filed_at));
  if (found.is !== "there") return found;
  const seen = await readSession(tmux, found.bound, warrant.target);
  if (seen.is !== "there") return seen;
  const view = new SessionView(tmux, warrant, seen.session, options.ask ?? []);
  const suspect = new SessionSuspect(view, options);
  const why = suspect.whyNot();
  return why === null ? { is: "there", suspect } : { is: "unknown", why };
}

class SessionSuspect implements Suspect {
  readonly bound: BoundSession;
  readonly #view: SessionView;
  readonly #env: Env;
  readonly #answered: (nonce: string) => boolean;
  /** The pane that was asked. */
  #asked: string | null = null;
  /** The pane that is looked at. */
  #shown: string | null = null;
  /** What came of it, by nonce: later the screen may not show it any more. */
  readonly #results = new Map<string, Asked>();
  /** The program that was asked reads lines: what stands before the cursor may ask a person. */
  #isLineReader = false;
  #watch: TtyWatch | null = null;
  #endFileWatch: (() => void) | null = null;

  constructor(view: SessionView, options: SessionOptions) {
    this.#view = view;
    this.#env = options.env ?? process.env;
    this.#answered = options.answered ?? (() => false);
    this.bound = view.bound;
  }

  /** The warden lives in it, or was started by it: nothing may be done to it. */
  whyNot(): string | null {
    const [socket, server] = (this.#env.TMUX ?? "").split(",");
    const isOurs =
      (socket === this.bound.socket || Number(server) === this.bound.server.pid) &&
      this.#view.pane(this.#env.TMUX_PANE ?? "") !== undefined;
    return isOurs ? "the warden lives in that session" : whyNotOurs(this.tree([]));
  }

  async look(): Promise<Look> {
    try {
      const seen = await readScreens(this.#view, () => this.#paneToShow(), this.#isLineReader);
      if (seen.is !== "there") return seen;
      const asked = this.#view.session.panes.map((pane) => pane.asked);
      const answers = asked.filter((nonce) => nonce !== "-" && this.#answered(nonce));
      const files = sizesOf(this.#view.warrant.watch);
      return { is: "there", ...seen.shown, files, answers };
    } catch (error) {
      return explain(error);
    }
  }

  async work(since: number): Promise<Work> {
    const panes = this.#view.session.panes.filter(({ isDead }) => !isDead);
    const roots = panes.map(({ pid }) => pid);
    const shown = new Set(panes.map((pane) => foregroundGroup(pane.pid)));
    const isOwn = (pid: number) => roots.includes(pid) || shown.has(groupOf(pid));
    const hasAgent = panes.some((pane) => this.#view.agentIn(pane.id) !== null);
    return workBelow(this.tree([]), hasAgent ? (pid) => roots.includes(pid) : isOwn, since);
  }

  closeShell(): Promise<boolean> {
    return closeShell(this.#view);
  }

  programs(): Promise<AskedPrograms> {
    return this.#view.programs();
  }

  async ask(question: Question, programs?: AskedPrograms): Promise<Asked> {
    const view = this.#view;
    const seen = await view.refresh();
    if (seen.is !== "there") return seen;
    const result = this.#results.get(question.nonce);
    if (result !== undefined) return result;
    view.forgetAgents();
    try {
      const shell = view.warrant.shell ? null : view.shellLeft();
      if (shell !== null) {
        return { is: "left", why: `its agent has ended: nothing but ${shell} is left there` };
      }
      const to = programs ?? (await view.programs());
      const asked = await askPanes(view, question, to, (pane) => {
        const how = view.howToType(pane);
        this.#isLineReader = "as" in how && how.as === "lines";
        this.#asked = pane.id;
        this.#show(pane.id);
      });
      if (asked.is === "asked") this.#results.set(question.nonce, asked);
      return asked;
    } catch (error) {
      const now = hasVanished(error) ? await view.refresh() : null;
      return now === null || now.is === "there" ? explain(error) : now;
    }
  }

  takeBack(questions: readonly Question[]): Promise<void> {
    const isAgent = (pane: { pid: number; tty: string }) => agentIn(foregroundOf(pane)) !== null;
    return takeBackQuestions(this.#view.tmux, questions, isAgent);
  }

  watch(act: () => void): void {
    this.close();
    this.#endFileWatch = watchSizes(this.#view.warrant.watch, act);
    this.#watch = new TtyWatch(act);
    this.#paneToShow();
  }

  tree(known: readonly SeenProcess[]): SeenProcess[] {
    return this.#view.tree(known);
  }

  end(known: readonly SeenProcess[], options: EndOptions): Promise<Ended> {
    return endSession(this.#view, known, options);
  }

  close(): void {
    this.#watch?.close();
    this.#watch = null;
    this.#endFileWatch?.();
    this.#endFileWatch = null;
  }

  #paneToShow(): string {
    const live = this.#view.livePanes();
    const pane =
      live.find(({ id }) => id === this.#asked) ??
      live.find(({ id }) => id === this.#shown) ??
      live.find(({ asked }) => asked !== "-") ??
      this.#view.panesToAsk()[0] ??
      live[0];
    this.#show(pane?.id ?? "");
    return pane?.id ?? "";
  }

  #show(id: string): void {
    this.#shown = id;
    const pane = this.#view.pane(id);
    if (pane) this.#watch?.turnTo(pane.tty);
  }
}

function explain(error: unknown): { is: "unknown"; why: string } {
  if (!(error instanceof TmuxTrouble)) throw error;
  return { is: "unknown", why: error.message };
}

function groupOf(pid: number): number {
  const found = readProcess(pid);
  return typeof found === "string" ? -1 : found.group;
}
