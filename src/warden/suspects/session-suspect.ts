import { randomUUID } from "node:crypto";
import { sizesOf, watchSizes } from "../../platform/files/watch.ts";
import { pidsSince, readProcess } from "../../platform/processes/proc-fs.ts";
import {
  defaultSocket,
  type Env,
  type Tmux,
  TmuxTrouble,
  tmuxAt,
} from "../../platform/tmux/tmux.ts";
import { TtyWatch } from "../../platform/tmux/tty-watch.ts";
import type { SeenProcess, Standing, StandingPane } from "../dance.ts";
import type { Question } from "../question.ts";
import type { BoundSession, Warrant } from "../warrant.ts";
import {
  type Agent,
  agentLook,
  type Input,
  lineLook,
  ownRows,
  readRow,
  SPEAKS,
} from "./agent-screen.ts";
import { isNamed } from "./may-type.ts";
import { isAskedIn, standingIn, startedLater, ticksNow, whyOthers } from "./standing.ts";
import type { Asked, Ended, EndOptions, Found, Look, Suspect, Work } from "./suspect.ts";
import { endTargetTree, seeTree, type TreeOf, whyNotOurs } from "./target-tree.ts";
import { askPane, howToType, isOurQuestion, screenFrom } from "./tmux-ask.ts";
import {
  agentIn,
  argvOf,
  foregroundGroup,
  foregroundOf,
  type RunningProgram,
  sharedDaemons,
} from "./tmux-foreground.ts";
import {
  findSession,
  ownersOf,
  type Pane,
  type Seen,
  type SessionSight,
  seeSession,
  tmuxEntryOf,
} from "./tmux-sessions.ts";
import { takeBackQuestions } from "./tty-input.ts";
import { workBelow } from "./work-below.ts";

export interface SessionOptions {
  /** Ours: tells the user's own server, and whether we live in a pane. */
  env?: Env;
  /** For each command of tmux. */
  limitMs?: number;
  /** Whether this nonce was answered beside the terminal. */
  answered?(nonce: string): boolean;
  /** Names of programs that may be typed to, though they are not known. */
  ask?: readonly string[];
}

/** What this session is, so that another of its name is never taken for it. */
export async function bindSession(
  name: string,
  socket: string | null = null,
  options: SessionOptions = {},
): Promise<Seen<{ bound: BoundSession }>> {
  const tmux = tmuxAt(socket ?? defaultSocket(options.env), options);
  const found = await findSession(tmux, name, null);
  if (found.is !== "there") return found;
  const seen = await seeSession(tmux, found.bound, name);
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
  const seen = await seeSession(tmux, found.bound, warrant.target);
  if (seen.is !== "there") return seen;
  const suspect = new SessionSuspect(tmux, warrant, seen.sight, options);
  const why = suspect.whyNot();
  return why === null ? { is: "there", suspect } : { is: "unknown", why };
}

const SCREEN_LINES = 1_000;
/** Of these only what is visible. */
const MOST_BESIDE = 15;
/** How often panes are listed while they are being ended: new ones may be opened meanwhile. */
const REFRESH_MS = 250;
/** In one session. */
const MOST_ASKED = 20;
/** A pane's process, and the name of what is in its foreground, as far as a format can compare it. */
const IN_FRONT = "#{pane_pid} #{s/[^A-Za-z0-9_.-]//:pane_current_command}";

class SessionSuspect implements Suspect {
  readonly bound: BoundSession;
  readonly #tmux: Tmux;
  readonly #warrant: Warrant;
  readonly #env: Env;
  readonly #answered: (nonce: string) => boolean;
  readonly #ask: readonly string[];
  /** The known agent in each pane, as it was last looked for. */
  readonly #agents = new Map<string, Agent | null>();
  #sight: SessionSight;
  /** The pane that was asked. */
  #asked: string | null = null;
  /** The one that is looked at. */
  #pane: string | null = null;
  /** What came of it, by nonce: later the screen may not show it any more. */
  readonly #results = new Map<string, Asked>();
  /** Its program reads lines: what stands before the cursor may ask a person. */
  #isLineReader = false;
  /** While it is being ended: the panes, with their processes, that may be. */
  #doomed: ReadonlyMap<string, number> | null = null;
  /** And what was started since, by something else. */
  #later: readonly number[] = [];
  #watch: TtyWatch | null = null;
  #endFileWatch: (() => void) | null = null;

  constructor(tmux: Tmux, warrant: Warrant, sight: SessionSight, options: SessionOptions) {
    this.#tmux = tmux;
    this.#warrant = warrant;
    this.#sight = sight;
    this.#env = options.env ?? process.env;
    this.#answered = options.answered ?? (() => false);
    this.#ask = options.ask ?? [];
    this.bound = sight.bound;
  }

  /** It is ours, or we are its: nothing may be done to it. */
  whyNot(): string | null {
    const [socket, server] = (this.#env.TMUX ?? "").split(",");
    const isOurs =
      (socket === this.bound.socket || Number(server) === this.bound.server.pid) &&
      this.#sight.panes.some(({ id }) => id === this.#env.TMUX_PANE);
    return isOurs ? "the warden lives in that session" : whyNotOurs(this.tree([]));
  }

  async look(): Promise<Look> {
    for (let tries = 1; ; tries++) {
      try {
        const { seen, screens } = await this.#seeWithScreens(this.#paneToShow());
        if (seen.is !== "there") return seen;
        if (screens === null && tries < 3) continue; // a pane was closed just now
        const asked = this.#sight.panes.map((pane) => pane.asked);
        const answers = asked.filter((nonce) => nonce !== "-" && this.#answered(nonce));
        const [head = [], screen = [], ...others] = screens ?? [];
        const files = sizesOf(this.#warrant.watch);
        const about = this.#judge(head, screen);
        const { beside, person } = this.#judgeBeside(others);
        return { is: "there", screen, ...person, ...about, beside, files, answers };
      } catch (error) {
        return explain(error);
      }
    }
  }

  /** All in one command, because it is done often: who it is, and what its terminals show. */
  async #seeWithScreens(
    pane: string,
  ): Promise<{ seen: Seen<{ sight: SessionSight }>; screens: string[][] | null }> {
    const mark = [";", "display-message", "-p", randomUUID(), ";"];
    const join = this.#agentIn(pane) === null ? ["-J"] : []; // rows of a framed screen stay rows
    const visible = (id: string) => [
      ...[...mark, "display-message", "-p", "-t", id, "#{cursor_x} #{cursor_y} #{cursor_flag}"],
      ...[";", "capture-pane", "-p", "-e", "-t", id],
    ];
    const captures = [
      ...visible(pane),
      ...[...mark, "capture-pane", "-p", ...join, "-S", `-${SCREEN_LINES}`, "-t", pane],
      ...this.#panesBeside(pane).flatMap(({ id }) => visible(id)),
    ];
    let screens: string[][] | null = null;
    let isFirst = true;
    const run: Tmux["run"] = async (args) => {
      if (!isFirst) return this.#tmux.run(args);
      isFirst = false;
      try {
        const text = await this.#tmux.run([...args, ...captures]);
        const [head = "", ...shown] = text.split(`${mark[3]}\n`);
        screens = shown.map(linesOf);
        return head;
      } catch (error) {
        if (!hasVanished(error)) throw error;
        return this.#tmux.run(args); // only the pane may be gone
      }
    };
    const seen = await seeSession({ ...this.#tmux, run }, this.bound, this.#warrant.target);
    if (seen.is === "there") this.#sight = seen.sight;
    return { seen: judged(seen), screens };
  }

  #panesBeside(pane: string): Pane[] {
    return this.#livePanes()
      .filter(({ id }) => id !== pane)
      .slice(0, MOST_BESIDE);
  }

  /** The other terminals: their words, and whether an agent in one of them waits for a person. */
  #judgeBeside(heads: readonly string[][]): { beside: string[]; person: { person?: string } } {
    const panes = this.#panesBeside(this.#pane ?? "");
    const beside: string[] = [];
    let person: { person?: string } = {};
    for (const [at, head] of heads.entries()) {
      const { screen } = screenFrom(head.join("\n"));
      const agent = this.#agentIn(panes[at]?.id ?? "");
      if (agent !== null) person = { ...personAt(agentLook(agent, screen).input), ...person };
      beside.push(...screen.rows.map((row) => readRow(row).text));
    }
    return { beside, person };
  }

  /** What the visible screen says beside its words: whose they are, and whether it waits for a person. */
  #judge(head: readonly string[], screen: readonly string[]) {
    const visible = screenFrom(head.join("\n")).screen;
    const agent = this.#agentIn(this.#pane ?? "");
    if (agent === null) {
      const input = lineLook(visible);
      return input.is === "person" && this.#isLineReader ? { person: input.what } : {};
    }
    const { input, isBusy } = agentLook(agent, visible);
    const rows = [
      ...screen.slice(0, Math.max(0, screen.length - lastOf(visible.rows))),
      ...visible.rows.map((row) => readRow(row).text),
    ];
    const top = input.is === "box" ? rows.length - visible.rows.length + input.top : null;
    const speaks = SPEAKS[agent];
    return {
      said: ownRows(agent, rows, top),
      speaks,
      ...personAt(input),
      ...(isBusy ? { isQueued: true } : {}),
    };
  }

  /** As it was found out when it was first shown, or asked: to look is done often. */
  #agentIn(id: string): Agent | null {
    const known = this.#agents.get(id);
    if (known !== undefined) return known;
    const pane = this.#sight.panes.find((one) => one.id === id);
    const agent = pane === undefined ? null : agentIn(foregroundOf(pane));
    this.#agents.set(id, agent);
    return agent;
  }

  async work(since: number): Promise<Work> {
    const panes = this.#sight.panes.filter(({ isDead }) => !isDead);
    const roots = panes.map(({ pid }) => pid);
    const shown = new Set(panes.map((pane) => foregroundGroup(pane.pid)));
    const isOwn = (pid: number) => roots.includes(pid) || shown.has(groupOf(pid));
    const hasAgent = panes.some((pane) => this.#agentIn(pane.id) !== null);
    return workBelow(this.tree([]), hasAgent ? (pid) => roots.includes(pid) : isOwn, since);
  }

  async closeShell(): Promise<boolean> {
    const seen = await this.#see();
    if (seen.is !== "there" || this.#shellLeft() === null) return false;
    for (const { id, pid } of this.#sight.panes) {
      const shown = await this.#tmux.run(["display-message", "-p", "-t", id, IN_FRONT]);
      if (this.#shellLeft() === null) return false;
      const isIdle = `#{==:${IN_FRONT},${shown.trim()}}`;
      if (shown.trim().startsWith(`${pid} `)) await this.#killPane(id, isIdle);
    }
    return (await this.#see()).is === "gone";
  }

  /** The name of the shell that is all that is left in it, or null. */
  #shellLeft(): string | null {
    const live = this.#livePanes();
    const hows = live.map((pane) => howToType(pane, false));
    const areShells = hows.every((how) => "no" in how && how.isShell === true);
    if (live.length === 0 || !areShells || this.tree([]).length > live.length) return null;
    return foregroundOf(live[0] as Pane)[0]?.comm ?? "a shell";
  }

  /** All live panes of its own; which of them is an agent is judged as for a question. */
  async stand(): Promise<Standing> {
    await this.#see();
    const at = ticksNow();
    const panes = this.#livePanes().flatMap((pane) => {
      const [is, covers] = this.#isIn(pane);
      return standingIn(pane, is, covers) ?? [];
    });
    return { at, panes };
  }

  async ask(question: Question, standing?: Standing): Promise<Asked> {
    const seen = await this.#see();
    if (seen.is !== "there") return seen;
    const result = this.#results.get(question.nonce);
    if (result !== undefined) return result;
    this.#agents.clear();
    try {
      const shell = this.#warrant.shell ? null : this.#shellLeft();
      if (shell !== null) {
        return { is: "left", why: `its agent has ended: nothing but ${shell} is left there` };
      }
      const asked = await this.#askPanes(question, standing ?? (await this.stand()));
      if (asked.is === "asked") this.#results.set(question.nonce, asked);
      return asked;
    } catch (error) {
      const now = hasVanished(error) ? await this.#see() : null;
      return now === null || now.is === "there" ? explain(error) : now;
    }
  }

  /**
   * All that can be asked: known agents, and what a person has named. `except` says what could not
   * be, and is no idle shell: that was not asked, so it must not be ended.
   */
  async #askPanes(question: Question, standing: Standing): Promise<Asked> {
    const panes = this.#panesToAsk();
    const [first] = panes;
    if (first === undefined) return { is: "refused", why: this.#whyNobody() };
    this.#asked = first.id;
    this.#show(first.id);
    const channels: string[] = [];
    const missed: string[] = this.#unaskable();
    for (const [at, pane] of panes.entries()) {
      const how: ReturnType<typeof howToType> =
        at < MOST_ASKED ? this.#howToType(pane) : { no: `it is one of more than ${MOST_ASKED}` };
      if ("no" in how) {
        missed.push(`pane ${pane.id}: ${how.no}`);
        continue;
      }
      if (pane === first) this.#isLineReader = how.as === "lines";
      const isAllowed = isNamed(foregroundOf(pane), this.#ask);
      const typed = await askPane(this.#tmux, pane, question, how, isAllowed);
      if (typed.is === "waits") return typed;
      if (typed.is === "refused") missed.push(`pane ${pane.id}: ${typed.why}`);
      else channels.push(`pane ${pane.id}`);
    }
    if (channels.length === 0) return { is: "refused", why: missed.join("; ") };
    await this.#see();
    const changed = this.#whyOthers(standing, []);
    missed.push(...(changed === null ? [] : [changed]), ...this.#inBackground(standing));
    const except = missed.length === 0 ? {} : { except: missed.join("; ") };
    const channel = channels.join(", ");
    return { is: "asked", channel, arrived: true, submitted: true, ...except };
  }

  /** Agents that no terminal shows: they cannot be asked. */
  #inBackground(standing: Standing): string[] {
    return this.tree([]).flatMap(({ pid, command }) => {
      const argv = argvOf(pid);
      const program = { pid, argv, comm: "", hasTerminal: true };
      const isAgent = agentIn([program]) !== null || isNamed([program], this.#ask);
      if (!isAgent || isAskedIn(standing, pid)) return [];
      return [`process ${pid} (${command}) runs in the background`];
    });
  }

  /** What a pane is to a question, and which of its programs stands for what it starts later. */
  #isIn(pane: Pane): [StandingPane["is"], (pid: number) => boolean] {
    const how = this.#howToType(pane);
    if ("no" in how && how.isShell === true) return ["idle", () => false];
    if ("no" in how) return ["other", () => true];
    if (how.as === "shell") return ["agent", () => false];
    const foreground = foregroundOf(pane);
    const isIt = (one: RunningProgram) =>
      how.as === "lines" ? isNamed([one], this.#ask) : agentIn([one]) !== null;
    const named = new Set(foreground.filter(isIt).map(({ pid }) => pid));
    return ["agent", (pid) => named.size === 0 || named.has(pid)];
  }

  /** Why not all that would be ended was asked; null when it was. */
  #whyOthers(standing: Standing, known: readonly SeenProcess[]): string | null {
    const others = new Set(this.#sight.others);
    const moved = standing.panes.find(({ root }) => others.has(root.pid));
    if (moved !== undefined) return `pane ${moved.pane} was moved to another session meanwhile`;
    return whyOthers(standing, this.#livePanes(), this.tree(known));
  }

  /** In live panes: neither to be typed to, nor a shell that waits for a command. */
  #unaskable(): string[] {
    return this.#livePanes().flatMap((pane) => {
      const how = this.#howToType(pane);
      return "no" in how && how.isShell !== true ? [`pane ${pane.id}: ${how.no}`] : [];
    });
  }

  takeBack(questions: readonly Question[]): Promise<void> {
    const isAgent = (pane: { pid: number; tty: string }) => agentIn(foregroundOf(pane)) !== null;
    return takeBackQuestions(this.#tmux, questions, isAgent);
  }

  watch(act: () => void): void {
    this.close();
    this.#endFileWatch = watchSizes(this.#warrant.watch, act);
    this.#watch = new TtyWatch(act);
    this.#paneToShow();
  }

  tree(known: readonly SeenProcess[]): SeenProcess[] {
    return seeTree(this.#treeOf(), known);
  }

  async end(known: readonly SeenProcess[], options: EndOptions): Promise<Ended> {
    const nothing = { exit: [], survivors: [] };
    const { standing, isResumed, killAfterMs } = options;
    const seen = await this.#see();
    if (seen.is === "unknown") return { ...nothing, unknown: seen.why };
    if (seen.is === "gone") this.#sight = { ...this.#sight, panes: [] };
    const why = whyNotOurs(this.tree(known)) ?? this.#whyNotAsked(standing, known);
    // What was signalled before a restart is ended for good; what came after it is not touched.
    if (why !== null && !isResumed) return { ...nothing, unknown: why };
    const isKnown = ({ pid }: Pane) => known.some((one) => one.pid === pid);
    const panes = this.#sight.panes.filter((pane) => why === null || isKnown(pane));
    if (why !== null && standing !== undefined) {
      this.#later = startedLater(standing, this.tree(known)).map(({ pid }) => pid);
    }
    this.#doomed = new Map(panes.map(({ id, pid }) => [id, pid]));
    const ended = await this.#endOnce(known, killAfterMs);
    if (ended.survivors.length > 0) return ended;
    for (const { id } of panes) await this.#killPane(id, "#{pane_dead}");
    const left = await this.#see();
    if (left.is === "unknown" && left.isReplaced !== true) return { ...ended, unknown: left.why };
    if (left.is === "there") return { ...ended, spared: this.#whatStays() };
    if (left.is === "unknown" || left.hasGuestsOnly !== true) return ended;
    return { ...ended, spared: `its session stays: ${left.why}` };
  }

  /** In words; nothing may be ended then. */
  #whyNotAsked(standing: Standing | undefined, known: readonly SeenProcess[]): string | null {
    if (standing === undefined) {
      return "not_asked: it is not known which programs the question was put to";
    }
    const why = this.#whyOthers(standing, known);
    return why === null ? null : `not_asked: ${why}; nothing was ended`;
  }

  /** What is still in the session after all that was asked has ended. */
  #whatStays(): string {
    const live = this.#livePanes().map(({ id }) => `pane ${id}`);
    const opened = live.length === 0 ? [] : [`${live.join(", ")}: opened since it was asked`];
    const { guests } = this.#sight;
    const shown = guests.length === 0 ? [] : [`windows that belong to ${ownersOf(this.#sight)}`];
    return `its session stays, with ${[...opened, ...shown].join("; ")}`;
  }

  close(): void {
    this.#watch?.close();
    this.#watch = null;
    this.#endFileWatch?.();
    this.#endFileWatch = null;
  }

  async #endOnce(known: readonly SeenProcess[], killAfterMs: number) {
    let isOver = false;
    const refresh = async () => {
      while (!isOver) {
        await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
        if (!isOver) await this.#see();
      }
    };
    const refreshing = refresh();
    try {
      return await endTargetTree(() => this.#treeOf(), known, { killAfterMs });
    } finally {
      isOver = true;
      await refreshing;
    }
  }

  /** If that is so at that very moment. */
  async #killPane(id: string, condition: string): Promise<void> {
    try {
      await this.#tmux.run(["if-shell", "-F", "-t", id, condition, `kill-pane -t '${id}'`]);
    } catch (error) {
      if (!(error instanceof TmuxTrouble)) throw error; // else: what is left tells what is so
    }
  }

  async #see(): Promise<Seen<{ sight: SessionSight }>> {
    const seen = await seeSession(this.#tmux, this.bound, this.#warrant.target);
    if (seen.is === "there") this.#sight = seen.sight;
    return judged(seen);
  }

  /** One that was asked before comes first: who has started anew looks where it was asked. */
  #livePanes(): Pane[] {
    const live = this.#sight.panes.filter(({ isDead }) => !isDead);
    return live.sort((a, b) => Number(a.asked === "-") - Number(b.asked === "-"));
  }

  #howToType(pane: Pane): ReturnType<typeof howToType> {
    return howToType(pane, this.#warrant.shell, this.#ask);
  }

  #panesToAsk(): Pane[] {
    const panes = this.#livePanes().filter((pane) => !("no" in this.#howToType(pane)));
    const isAgent = ({ id }: Pane) => this.#agentIn(id) !== null;
    return [...panes.filter(isAgent), ...panes.filter((pane) => !isAgent(pane))];
  }

  #whyNobody(): string {
    const whys = this.#livePanes().map((pane) => {
      const how = this.#howToType(pane);
      return `pane ${pane.id}: ${"no" in how ? how.no : "it may be asked"}`;
    });
    return whys.join("; ");
  }

  #paneToShow(): string {
    const live = this.#livePanes();
    const pane =
      live.find(({ id }) => id === this.#asked) ??
      live.find(({ id }) => id === this.#pane) ??
      live.find(({ asked }) => asked !== "-") ??
      this.#panesToAsk()[0] ??
      live[0];
    this.#show(pane?.id ?? "");
    return pane?.id ?? "";
  }

  #show(pane: string): void {
    this.#pane = pane;
    this.#turn();
  }

  #turn(): void {
    const pane = this.#sight.panes.find(({ id }) => id === this.#pane);
    if (pane) this.#watch?.turnTo(pane.tty);
  }

  /**
   * Whatever runs in panes that are not its own, and, while it is being ended, in those that were not
   * asked. As the machine tells it: a pane that gets another program keeps its name, and its mark.
   */
  #spared(roots: readonly { pid: number }[]): number[] {
    const own = new Set(roots.map(({ pid }) => pid));
    const isOther = (pid: number) => {
      const found = own.has(pid) ? "gone" : readProcess(pid);
      return typeof found !== "string" && found.parent === this.bound.server.pid;
    };
    return [...this.#later, ...[...pidsSince(1, 0)].filter(isOther)];
  }

  #treeOf(): TreeOf {
    const { server, socket, session } = this.bound;
    const roots: { pid: number; started: string }[] = [];
    const marks: string[][] = [];
    const isDoomed = ({ id, pid }: Pane) => this.#doomed?.get(id) === pid;
    for (const pane of this.#sight.panes) {
      if (this.#doomed !== null && !isDoomed(pane)) continue;
      const mark = `TMUX_PANE=${pane.id}`;
      marks.push([mark, `TMUX=${socket},${server.pid},${session.slice(1)}`]);
      const found = readProcess(pane.pid);
      // The number of a dead pane may be somebody else's by now.
      if (pane.isDead || typeof found === "string" || found.parent !== server.pid) continue;
      roots.push({ pid: pane.pid, started: String(found.started) });
      const entry = tmuxEntryOf(pane.pid);
      if (entry?.split(",")[1] === String(server.pid)) marks.push([mark, entry]);
    }
    const shared = [...sharedDaemons().filter((pid) => pid !== server.pid), ...this.#spared(roots)];
    return { roots, marks, spare: [server.pid], shared };
  }
}

/** It had panes of its own, and has none any more: then those have ended. */
function judged(seen: Seen<{ sight: SessionSight }>): Seen<{ sight: SessionSight }> {
  if (seen.is !== "unknown" || seen.hasGuestsOnly !== true) return seen;
  return { is: "gone", why: seen.why, hasGuestsOnly: true };
}

function hasVanished(error: unknown): boolean {
  const kinds = ["no-server", "no-target", "lost-server"];
  return error instanceof TmuxTrouble && kinds.includes(error.kind);
}

function explain(error: unknown): { is: "unknown"; why: string } {
  if (!(error instanceof TmuxTrouble)) throw error;
  return { is: "unknown", why: error.message };
}

/** A dialog; or text in the box that is not ours: somebody is at work there. */
function personAt(input: Input): { person?: string } {
  if (input.is === "person") return { person: input.what };
  const isTyping = input.is === "box" && input.text !== "" && !isOurQuestion(input.text);
  return isTyping ? { person: "has half-typed text in its input: a person is at work" } : {};
}

/** How many rows of a screen say something: what is below them was cut from what is looked at. */
function lastOf(rows: readonly string[]): number {
  return rows.findLastIndex((row) => readRow(row).text !== "") + 1;
}

function groupOf(pid: number): number {
  const found = readProcess(pid);
  return typeof found === "string" ? -1 : found.group;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trimEnd());
  while (lines.at(-1) === "") lines.pop();
  return lines;
}
