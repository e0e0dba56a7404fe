import { sizesOf, watchSizes } from "../../platform/files/watch.ts";
import { readProcess } from "../../platform/processes/proc-fs.ts";
import {
  defaultSocket,
  type Env,
  type Tmux,
  TmuxTrouble,
  tmuxAt,
} from "../../platform/tmux/tmux.ts";
import { TtyWatch } from "../../platform/tmux/tty-watch.ts";
import type { AskedPrograms, SeenProcess } from "../dance.ts";
import { isAnswerOf, type Question } from "../question.ts";
import type { WardenFiles } from "../warden-files.ts";
import type { BoundSession, Warrant } from "../warrant.ts";
import { workBelow } from "./child-work.ts";
import { foregroundGroup } from "./foreground-programs.ts";
import { askPanes, takeBackQuestions } from "./session-ask.ts";
import { closeShell, endSession } from "./session-end.ts";
import { readScreens, SessionView } from "./session-view.ts";
import type { Asked, Ended, EndOptions, Found, Look, Suspect, Work } from "./suspect.ts";
import { whyNotOurs } from "./target-tree.ts";
import {
  findSession,
  hasVanished,
  type Pane,
  readSession,
  type Seen,
  type SessionPanes,
} from "./tmux-sessions.ts";
import type { TypingPatience } from "./type-question.ts";

export interface SessionOptions {
  /** The warden's own: names the user's tmux server, and the pane that the warden runs in. */
  env?: Env;
  /** The server of warrants that name none, if it is not the user's own. */
  socket?: string;
  limitMs?: number;
  /** Has the answers of `viv alive`. */
  files?: Pick<WardenFiles, "answered">;
  /** Programs, besides known agents, that may be typed to. */
  ask?: readonly string[];
  /** Where it is known that a program will not react. */
  patience?: Partial<TypingPatience>;
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
  const socket = bound?.socket ?? warrant.socket ?? options.socket ?? defaultSocket(options.env);
  const tmux = tmuxAt(socket, options);
  const found: Seen<{ bound: BoundSession }> = bound
    ? { is: "there", bound }
    : await findSession(tmux, warrant.target, Date.parse(warrant.filed_at));
  if (found.is !== "there") return found;
  const seen = await readSession(tmux, found.bound, warrant.target);
  if (seen.is !== "there") return seen;
  const suspect = new SessionSuspect(tmux, warrant, seen.session, options);
  const why = suspect.whyNot();
  return why === null ? { is: "there", suspect } : { is: "unknown", why };
}

class SessionSuspect extends SessionView implements Suspect {
  readonly #options: SessionOptions;
  #asked: string | null = null;
  #shown: string | null = null;
  /** By nonce: later the screen may not show the result any more. */
  readonly #results = new Map<string, Asked>();
  /** The asked program reads lines: the text before the cursor may ask a person. */
  #isLineReader = false;
  #watch: TtyWatch | null = null;
  #endFileWatch: (() => void) | null = null;

  constructor(tmux: Tmux, warrant: Warrant, session: SessionPanes, options: SessionOptions) {
    super(tmux, warrant, session, options.ask ?? []);
    this.#options = options;
  }

  /** The warden runs in it, or was started by it: nothing may be done to it. */
  whyNot(): string | null {
    const { env = process.env } = this.#options;
    const [socket, server] = (env.TMUX ?? "").split(",");
    const isOurs =
      (socket === this.bound.socket || Number(server) === this.bound.server.pid) &&
      this.pane(env.TMUX_PANE ?? "") !== undefined;
    return isOurs ? "the warden lives in that session" : whyNotOurs(this.tree([]));
  }

  async look(): Promise<Look> {
    try {
      const seen = await readScreens(this, () => this.#paneToShow(), this.#isLineReader);
      if (seen.is !== "there") return seen;
      const asked = this.session.panes.map((pane) => pane.asked);
      const answers = asked.filter((nonce) => nonce !== "-" && this.#isAnswered(nonce));
      const files = sizesOf(this.warrant.watch);
      return { is: "there", ...seen.shown, files, answers };
    } catch (error) {
      return explain(error);
    }
  }

  #isAnswered(nonce: string): boolean {
    return isAnswerOf(this.#options.files?.answered(nonce) ?? null, nonce, this.bound);
  }

  async work(since: number): Promise<Work> {
    const panes = this.session.panes.filter(({ isDead }) => !isDead);
    const roots = panes.map(({ pid }) => pid);
    const shown = new Set(panes.map((pane) => foregroundGroup(pane.pid)));
    const isOwn = (pid: number) => roots.includes(pid) || shown.has(groupOf(pid));
    const hasAgent = panes.some((pane) => this.agentIn(pane.id) !== null);
    return workBelow(this.tree([]), hasAgent ? (pid) => roots.includes(pid) : isOwn, since);
  }

  closeShell(): Promise<boolean> {
    return closeShell(this);
  }

  async ask(question: Question, programs?: AskedPrograms): Promise<Asked> {
    const seen = await this.refresh();
    if (seen.is !== "there") return seen;
    const result = this.#results.get(question.nonce);
    if (result !== undefined) return result;
    this.agents.clear();
    try {
      const shell = this.warrant.shell ? null : this.shellLeft();
      if (shell !== null) {
        return { is: "left", why: `its agent has ended: nothing but ${shell} is left there` };
      }
      const to = programs ?? (await this.programs());
      const onFirst = (pane: Pane) => {
        const how = this.howToType(pane);
        this.#isLineReader = "as" in how && how.as === "lines";
        this.#asked = pane.id;
        this.#show(pane.id);
      };
      const asked = await askPanes(this, question, to, onFirst, this.#options.patience);
      if (asked.is === "asked") this.#results.set(question.nonce, asked);
      return asked;
    } catch (error) {
      const now = hasVanished(error) ? await this.refresh() : null;
      return now === null || now.is === "there" ? explain(error) : now;
    }
  }

  takeBack(questions: readonly Question[]): Promise<void> {
    return takeBackQuestions(this.tmux, questions);
  }

  watch(act: () => void): void {
    this.close();
    this.#endFileWatch = watchSizes(this.warrant.watch, act);
    this.#watch = new TtyWatch(act);
    this.#paneToShow();
  }

  end(known: readonly SeenProcess[], options: EndOptions): Promise<Ended> {
    return endSession(this, known, options);
  }

  close(): void {
    this.#watch?.close();
    this.#watch = null;
    this.#endFileWatch?.();
    this.#endFileWatch = null;
  }

  #paneToShow(): string {
    const live = this.livePanes();
    const pane =
      live.find(({ id }) => id === this.#asked) ??
      live.find(({ id }) => id === this.#shown) ??
      live.find(({ asked }) => asked !== "-") ??
      this.panesToAsk()[0] ??
      live[0];
    this.#show(pane?.id ?? "");
    return pane?.id ?? "";
  }

  #show(id: string): void {
    this.#shown = id;
    const pane = this.pane(id);
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
