import { randomUUID } from "node:crypto";
import { pidsSince, seenAs } from "../../platform/processes/proc-fs.ts";
import type { Tmux } from "../../platform/tmux/tmux.ts";
import type { AskedPane, AskedPrograms, SeenProcess } from "../dance.ts";
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
import {
  agentIn,
  foregroundOf,
  foregroundPrograms,
  type RunningProgram,
  sharedDaemons,
  ticksNow,
  whyNotAllAsked,
} from "./foreground-programs.ts";
import { isNamed } from "./may-type.ts";
import type { There } from "./suspect.ts";
import { seeTree, type TreeOf } from "./target-tree.ts";
import {
  hasVanished,
  type Pane,
  readSession,
  type Seen,
  type SessionPanes,
  tmuxEntryOf,
} from "./tmux-sessions.ts";
import { howToType, isOurQuestion, screenFrom } from "./type-question.ts";

/** A session as it was last read: its panes, their programs, and the tree that they lead. */
export class SessionView {
  readonly tmux: Tmux;
  readonly warrant: Warrant;
  readonly bound: BoundSession;
  /** Programs, besides known agents, that may be typed to. */
  readonly named: readonly string[];
  session: SessionPanes;
  /** The known agent in each pane, since the first look or the last question: looks are frequent. */
  readonly agents = new Map<string, Agent | null>();
  /** While it is being ended: its panes by their processes, and the pids that they must not take along. */
  #ending: { panes: ReadonlyMap<string, number>; spare: readonly number[] } | null = null;

  constructor(tmux: Tmux, warrant: Warrant, session: SessionPanes, named: readonly string[]) {
    this.tmux = tmux;
    this.warrant = warrant;
    this.bound = session.bound;
    this.named = named;
    this.session = session;
  }

  /** `tmux` may have another `run`, which reads more in the same command. */
  async refresh(tmux: Tmux = this.tmux): Promise<Seen<{ session: SessionPanes }>> {
    const seen = await readSession(tmux, this.bound, this.warrant.target);
    if (seen.is === "there") this.session = seen.session;
    // It had panes of its own, and they have ended.
    if (seen.is !== "unknown" || seen.hasGuestsOnly !== true) return seen;
    return { is: "gone", why: seen.why, hasGuestsOnly: true };
  }

  pane(id: string): Pane | undefined {
    return this.session.panes.find((pane) => pane.id === id);
  }

  /** Asked panes first: after a restart an answer may be there. */
  livePanes(): Pane[] {
    const live = this.session.panes.filter(({ isDead }) => !isDead);
    return live.sort((a, b) => Number(a.asked === "-") - Number(b.asked === "-"));
  }

  agentIn(id: string): Agent | null {
    const known = this.agents.get(id);
    if (known !== undefined) return known;
    const pane = this.pane(id);
    const agent = pane === undefined ? null : agentIn(foregroundOf(pane));
    this.agents.set(id, agent);
    return agent;
  }

  howToType(pane: Pane): ReturnType<typeof howToType> {
    return howToType(pane, this.warrant.shell, this.named);
  }

  /** Known agents first. */
  panesToAsk(): Pane[] {
    const panes = this.livePanes().filter((pane) => !("no" in this.howToType(pane)));
    const isAgent = ({ id }: Pane) => this.agentIn(id) !== null;
    return [...panes.filter(isAgent), ...panes.filter((pane) => !isAgent(pane))];
  }

  /** The name of the shell if only that is left in it, or null. */
  shellLeft(): string | null {
    const live = this.livePanes();
    const hows = live.map((pane) => howToType(pane, false));
    const areShells = hows.every((how) => "no" in how && how.isShell === true);
    if (live.length === 0 || !areShells || this.tree([]).length > live.length) return null;
    return foregroundOf(live[0] as Pane)[0]?.comm ?? "a shell";
  }

  async programs(): Promise<AskedPrograms> {
    await this.refresh();
    const at = ticksNow();
    const panes = this.livePanes().flatMap((pane) => {
      const { is, covers } = this.#kindOf(pane);
      return foregroundPrograms(pane, is, covers) ?? [];
    });
    return { at, panes };
  }

  /** Whether a pane can be asked, and which of its programs covers its later children. */
  #kindOf(pane: Pane): { is: AskedPane["is"]; covers: (pid: number) => boolean } {
    const how = this.howToType(pane);
    if ("no" in how && how.isShell === true) return { is: "idle", covers: () => false };
    if ("no" in how) return { is: "other", covers: () => true };
    if (how.as === "shell") return { is: "agent", covers: () => false };
    const isIt = (one: RunningProgram) =>
      how.as === "lines" ? isNamed([one], this.named) : agentIn([one]) !== null;
    const named = foregroundOf(pane).flatMap((one) => (isIt(one) ? one.pid : []));
    return { is: "agent", covers: (pid) => named.length === 0 || named.includes(pid) };
  }

  whyNotAllAsked(asked: AskedPrograms, known: readonly SeenProcess[]): string | null {
    const others = new Set(this.session.others);
    const moved = asked.panes.find(({ root }) => others.has(root.pid));
    if (moved !== undefined) return `pane ${moved.pane} was moved to another session meanwhile`;
    return whyNotAllAsked(asked, this.livePanes(), this.tree(known));
  }

  /** From now on the tree is only that of these panes, and without `spare`. */
  limitTree(panes: readonly Pane[], spare: readonly SeenProcess[]): void {
    const own = new Map(panes.map(({ id, pid }) => [id, pid]));
    this.#ending = { panes: own, spare: spare.map(({ pid }) => pid) };
  }

  tree(known: readonly SeenProcess[]): SeenProcess[] {
    return seeTree(this.treeOf(), known);
  }

  treeOf(): TreeOf {
    const { server, socket, session } = this.bound;
    const roots: { pid: number; started: string }[] = [];
    const marks: string[][] = [];
    for (const pane of this.session.panes) {
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
   * Processes of panes that are not its own or, while it is being ended, were not asked. Read from the
   * machine: a pane that gets another program keeps its name and its mark.
   */
  #otherPanes(roots: readonly { pid: number }[]): number[] {
    const own = new Set(roots.map(({ pid }) => pid));
    return [...pidsSince(1, 0)].filter(
      (pid) => !own.has(pid) && seenAs(pid)?.parent === this.bound.server.pid,
    );
  }
}

const SCREEN_LINES = 1_000;
/** Of these only the visible part is read. */
const MOST_BESIDE = 15;

type Shown = Omit<There, "is" | "files" | "answers">;

/**
 * The terminals of a session. `pane` chooses the one that is read whole, anew for each try;
 * `isLineReader`: its program reads lines, so the text before the cursor may ask a person.
 */
export async function readScreens(
  view: SessionView,
  pane: () => string,
  isLineReader: boolean,
): Promise<Seen<{ shown: Shown }>> {
  for (let tries = 1; ; tries++) {
    const id = pane();
    const others = view.livePanes().flatMap((one) => (one.id === id ? [] : one.id));
    const { seen, screens } = await capture(view, id, others.slice(0, MOST_BESIDE));
    if (seen.is !== "there") return seen;
    if (screens === null && tries < 3) continue; // a pane was closed just now
    const [head = [], screen = [], ...heads] = screens ?? [];
    const { beside, person } = readBeside(view, others, heads);
    const own = readOwn(view, id, head, screen, isLineReader);
    return { is: "there", shown: { screen, person, ...own, beside } };
  }
}

/** The session and its terminals, in one command of tmux. */
async function capture(
  view: SessionView,
  pane: string,
  others: readonly string[],
): Promise<{ seen: Seen<{ session: SessionPanes }>; screens: string[][] | null }> {
  const { tmux } = view;
  const mark = [";", "display-message", "-p", randomUUID(), ";"];
  const join = view.agentIn(pane) === null ? ["-J"] : []; // rows of a framed screen stay rows
  const visible = (id: string) => [
    ...[...mark, "display-message", "-p", "-t", id, "#{cursor_x} #{cursor_y} #{cursor_flag}"],
    ...[";", "capture-pane", "-p", "-e", "-t", id],
  ];
  const captures = [
    ...visible(pane),
    ...[...mark, "capture-pane", "-p", ...join, "-S", `-${SCREEN_LINES}`, "-t", pane],
    ...others.flatMap(visible),
  ];
  let screens: string[][] | null = null;
  let isFirst = true;
  const run: Tmux["run"] = async (args) => {
    if (!isFirst) return tmux.run(args);
    isFirst = false;
    try {
      const text = await tmux.run([...args, ...captures]);
      const [head = "", ...shown] = text.split(`${mark[3]}\n`);
      screens = shown.map(linesOf);
      return head;
    } catch (error) {
      if (!hasVanished(error)) throw error;
      return tmux.run(args); // only the pane may be gone
    }
  };
  return { seen: await view.refresh({ ...tmux, run }), screens };
}

/** The other terminals: their rows, and whether an agent in one of them waits for a person. */
function readBeside(view: SessionView, panes: readonly string[], heads: readonly string[][]) {
  const beside: string[] = [];
  let person: string | undefined;
  for (const [at, head] of heads.entries()) {
    const { screen } = screenFrom(head.join("\n"));
    const agent = view.agentIn(panes[at] ?? "");
    if (agent !== null) person ??= personAt(agentLook(agent, screen).input);
    beside.push(...screen.rows.map((row) => readRow(row).text));
  }
  return { beside, person };
}

/** The agent's own rows of the visible screen, and whether it waits for a person. */
function readOwn(
  view: SessionView,
  pane: string,
  head: readonly string[],
  screen: readonly string[],
  isLineReader: boolean,
): Partial<Shown> {
  const visible = screenFrom(head.join("\n")).screen;
  const agent = view.agentIn(pane);
  if (agent === null) {
    const input = lineLook(visible);
    return input.is === "person" && isLineReader ? { person: input.what } : {};
  }
  const { input, isBusy } = agentLook(agent, visible);
  const rows = [
    ...screen.slice(0, Math.max(0, screen.length - lastOf(visible.rows))),
    ...visible.rows.map((row) => readRow(row).text),
  ];
  const top = input.is === "box" ? rows.length - visible.rows.length + input.top : null;
  const person = personAt(input);
  const own = { said: ownRows(agent, rows, top), speaks: SPEAKS[agent], isQueued: isBusy };
  return person === undefined ? own : { ...own, person };
}

/** A dialog; or text in the box that is not ours: a person is at work there. */
function personAt(input: Input): string | undefined {
  if (input.is === "person") return input.what;
  const isTyping = input.is === "box" && input.text !== "" && !isOurQuestion(input.text);
  return isTyping ? "has half-typed text in its input: a person is at work" : undefined;
}

/** How many rows of a screen have text: a capture ends with the last of them. */
function lastOf(rows: readonly string[]): number {
  return rows.findLastIndex((row) => readRow(row).text !== "") + 1;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trimEnd());
  while (lines.at(-1) === "") lines.pop();
  return lines;
}
