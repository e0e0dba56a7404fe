import { pidsSince, seenAs } from "../../platform/processes/proc-fs.ts";
import type { Tmux } from "../../platform/tmux/tmux.ts";
import type { AskedPane, AskedPrograms, SeenProcess } from "../dance.ts";
import type { BoundSession, Warrant } from "../warrant.ts";
import type { Agent } from "./agent-screen.ts";
import { foregroundPrograms, ticksNow, whyNotAllAsked } from "./asked-programs.ts";
import { isNamed } from "./may-type.ts";
import { seeTree, type TreeOf } from "./target-tree.ts";
import { agentIn, foregroundOf, type RunningProgram, sharedDaemons } from "./tmux-foreground.ts";
import {
  type Pane,
  readSession,
  type Seen,
  type SessionPanes,
  tmuxEntryOf,
} from "./tmux-sessions.ts";
import { howToType } from "./type-question.ts";

/** A session as it was last read: its panes, their programs, and the tree that they lead. */
export class SessionView {
  readonly tmux: Tmux;
  readonly warrant: Warrant;
  readonly bound: BoundSession;
  /** Names of programs that may be typed to, though they are no known agents. */
  readonly ask: readonly string[];
  #session: SessionPanes;
  /** The known agent in each pane, as it was last looked for. */
  readonly #agents = new Map<string, Agent | null>();
  /** While it is being ended: the panes, by their processes, that may be; and what they must not take along. */
  #ending: { panes: ReadonlyMap<string, number>; spare: readonly number[] } | null = null;

  constructor(tmux: Tmux, warrant: Warrant, session: SessionPanes, ask: readonly string[]) {
    this.tmux = tmux;
    this.warrant = warrant;
    this.bound = session.bound;
    this.ask = ask;
    this.#session = session;
  }

  get session(): SessionPanes {
    return this.#session;
  }

  /** `tmux` may bring another `run`, to read more in the same command. */
  async refresh(tmux: Tmux = this.tmux): Promise<Seen<{ session: SessionPanes }>> {
    const seen = await readSession(tmux, this.bound, this.warrant.target);
    if (seen.is === "there") this.#session = seen.session;
    // It had panes of its own, and has none any more: then those have ended.
    if (seen.is !== "unknown" || seen.hasGuestsOnly !== true) return seen;
    return { is: "gone", why: seen.why, hasGuestsOnly: true };
  }

  /** The session is gone: it has no panes any more. */
  dropPanes(): void {
    this.#session = { ...this.#session, panes: [] };
  }

  pane(id: string): Pane | undefined {
    return this.#session.panes.find((pane) => pane.id === id);
  }

  /** One that was asked before comes first: after a restart that is where an answer may be. */
  livePanes(): Pane[] {
    const live = this.#session.panes.filter(({ isDead }) => !isDead);
    return live.sort((a, b) => Number(a.asked === "-") - Number(b.asked === "-"));
  }

  /** As it was found out when it was first shown, or asked: looks are frequent. */
  agentIn(id: string): Agent | null {
    const known = this.#agents.get(id);
    if (known !== undefined) return known;
    const pane = this.pane(id);
    const agent = pane === undefined ? null : agentIn(foregroundOf(pane));
    this.#agents.set(id, agent);
    return agent;
  }

  forgetAgents(): void {
    this.#agents.clear();
  }

  howToType(pane: Pane): ReturnType<typeof howToType> {
    return howToType(pane, this.warrant.shell, this.ask);
  }

  /** Known agents first. */
  panesToAsk(): Pane[] {
    const panes = this.livePanes().filter((pane) => !("no" in this.howToType(pane)));
    const isAgent = ({ id }: Pane) => this.agentIn(id) !== null;
    return [...panes.filter(isAgent), ...panes.filter((pane) => !isAgent(pane))];
  }

  /** The name of the shell that is all that is left in it, or null. */
  shellLeft(): string | null {
    const live = this.livePanes();
    const hows = live.map((pane) => howToType(pane, false));
    const areShells = hows.every((how) => "no" in how && how.isShell === true);
    if (live.length === 0 || !areShells || this.tree([]).length > live.length) return null;
    return foregroundOf(live[0] as Pane)[0]?.comm ?? "a shell";
  }

  /** The programs in all live panes of its own. */
  async programs(): Promise<AskedPrograms> {
    await this.refresh();
    const at = ticksNow();
    const panes = this.livePanes().flatMap((pane) => {
      const { is, covers } = this.#kindOf(pane);
      return foregroundPrograms(pane, is, covers) ?? [];
    });
    return { at, panes };
  }

  /** What a pane is to a question, and which of its programs stands for what it starts later. */
  #kindOf(pane: Pane): { is: AskedPane["is"]; covers: (pid: number) => boolean } {
    const how = this.howToType(pane);
    if ("no" in how && how.isShell === true) return { is: "idle", covers: () => false };
    if ("no" in how) return { is: "other", covers: () => true };
    if (how.as === "shell") return { is: "agent", covers: () => false };
    const isIt = (one: RunningProgram) =>
      how.as === "lines" ? isNamed([one], this.ask) : agentIn([one]) !== null;
    const named = new Set(
      foregroundOf(pane)
        .filter(isIt)
        .map(({ pid }) => pid),
    );
    return { is: "agent", covers: (pid) => named.size === 0 || named.has(pid) };
  }

  /** Why not all that would be ended was asked; null when it was. */
  whyNotAllAsked(asked: AskedPrograms, known: readonly SeenProcess[]): string | null {
    const others = new Set(this.#session.others);
    const moved = asked.panes.find(({ root }) => others.has(root.pid));
    if (moved !== undefined) return `pane ${moved.pane} was moved to another session meanwhile`;
    return whyNotAllAsked(asked, this.livePanes(), this.tree(known));
  }

  /** From now on the tree is only that of these panes, and without `spare`. */
  limitTree(panes: readonly Pane[], spare: readonly number[]): void {
    const before = this.#ending?.spare ?? [];
    const own = new Map(panes.map(({ id, pid }) => [id, pid]));
    this.#ending = { panes: own, spare: [...before, ...spare] };
  }

  tree(known: readonly SeenProcess[]): SeenProcess[] {
    return seeTree(this.treeOf(), known);
  }

  treeOf(): TreeOf {
    const { server, socket, session } = this.bound;
    const roots: { pid: number; started: string }[] = [];
    const marks: string[][] = [];
    for (const pane of this.#session.panes) {
      if (this.#ending !== null && this.#ending.panes.get(pane.id) !== pane.pid) continue;
      const mark = `TMUX_PANE=${pane.id}`;
      marks.push([mark, `TMUX=${socket},${server.pid},${session.slice(1)}`]);
      const found = seenAs(pane.pid);
      // The number of a dead pane may be another process's by now.
      if (pane.isDead || found?.parent !== server.pid) continue;
      roots.push({ pid: pane.pid, started: String(found.started) });
      const entry = tmuxEntryOf(pane.pid);
      if (entry?.split(",")[1] === String(server.pid)) marks.push([mark, entry]);
    }
    const shared = [
      ...sharedDaemons().filter((pid) => pid !== server.pid),
      ...(this.#ending?.spare ?? []),
      ...this.#otherPanes(roots),
    ];
    return { roots, marks, spare: [server.pid], shared };
  }

  /**
   * Processes of panes that are not its own, and, while it is being ended, of those that were not
   * asked. Read from the machine: a pane that gets another program keeps its name, and its mark.
   */
  #otherPanes(roots: readonly { pid: number }[]): number[] {
    const own = new Set(roots.map(({ pid }) => pid));
    return [...pidsSince(1, 0)].filter(
      (pid) => !own.has(pid) && seenAs(pid)?.parent === this.bound.server.pid,
    );
  }
}
