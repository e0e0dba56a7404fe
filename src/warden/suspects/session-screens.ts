import { randomUUID } from "node:crypto";
import { type Tmux, TmuxTrouble } from "../../platform/tmux/tmux.ts";
import { agentLook, type Input, lineLook, ownRows, readRow, SPEAKS } from "./agent-screen.ts";
import type { SessionView } from "./session-view.ts";
import type { Look } from "./suspect.ts";
import type { Pane, Seen, SessionPanes } from "./tmux-sessions.ts";
import { isOurQuestion, screenFrom } from "./type-question.ts";

const SCREEN_LINES = 1_000;
/** Of these only what is visible. */
const MOST_BESIDE = 15;

type Shown = Omit<Extract<Look, { is: "there" }>, "is" | "files" | "answers">;

/**
 * What the terminals of a session show. `pane` chooses the one that is read whole, anew for each try;
 * `isLineReader`: its program reads lines, so what stands before the cursor may ask a person.
 */
export async function readScreens(
  view: SessionView,
  pane: () => string,
  isLineReader: boolean,
): Promise<Seen<{ shown: Shown }>> {
  for (let tries = 1; ; tries++) {
    const id = pane();
    const { seen, screens } = await capture(view, id);
    if (seen.is !== "there") return seen;
    if (screens === null && tries < 3) continue; // a pane was closed just now
    const [head = [], screen = [], ...others] = screens ?? [];
    const { beside, person } = readBeside(view, id, others);
    const own = readOwn(view, id, head, screen, isLineReader);
    return { is: "there", shown: { screen, person, ...own, beside } };
  }
}

/** The session and its terminals in one command of tmux. */
async function capture(
  view: SessionView,
  pane: string,
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
    ...panesBeside(view, pane).flatMap(({ id }) => visible(id)),
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

function panesBeside(view: SessionView, pane: string): Pane[] {
  return view
    .livePanes()
    .filter(({ id }) => id !== pane)
    .slice(0, MOST_BESIDE);
}

/** The other terminals: their rows, and whether an agent in one of them waits for a person. */
function readBeside(view: SessionView, pane: string, heads: readonly string[][]) {
  const panes = panesBeside(view, pane);
  const beside: string[] = [];
  let person: string | undefined;
  for (const [at, head] of heads.entries()) {
    const { screen } = screenFrom(head.join("\n"));
    const agent = view.agentIn(panes[at]?.id ?? "");
    if (agent !== null) person ??= personAt(agentLook(agent, screen).input);
    beside.push(...screen.rows.map((row) => readRow(row).text));
  }
  return { beside, person };
}

/** Which rows of the visible screen are the agent's own, and whether it waits for a person. */
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

/** How many rows of a screen have text: the rest is cut from what is captured. */
function lastOf(rows: readonly string[]): number {
  return rows.findLastIndex((row) => readRow(row).text !== "") + 1;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trimEnd());
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

export function hasVanished(error: unknown): boolean {
  const kinds = ["no-server", "no-target", "lost-server"];
  return error instanceof TmuxTrouble && kinds.includes(error.kind);
}
