import { setTimeout as delay } from "node:timers/promises";
import { nearest } from "../../base/names.ts";
import { readProcess } from "../../platform/processes/proc-fs.ts";
import {
  defaultSocket,
  type Env,
  type Tmux,
  TmuxTrouble,
  tmuxAt,
} from "../../platform/tmux/tmux.ts";
import type { SessionActivity } from "../rule-watch.ts";
import type { BoundSession } from "../warrant.ts";
import { textOf } from "./foreground-programs.ts";
import type { Unknown } from "./suspect.ts";

/**
 * Sessions by their identity. A name is only compared with tmux's lists, and never passed to it: `a:b`,
 * `=x*` and `$3` have a meaning there. tmux gets ids.
 */

export interface Pane {
  id: string;
  pid: number;
  tty: string;
  /** Of the active window, the active one. */
  isActive: boolean;
  isDead: boolean;
  isInputOff: boolean;
  isSynchronized: boolean;
  /** Marked with `@viv-shell`, or its session is. */
  isShell: boolean;
  /** Marked with `@viv-ask`, or its session is: its program may be typed to. */
  mayAsk: boolean;
  /** The nonce of its last question, by any warden; "-" for none. */
  asked: string;
}

/**
 * A session's own panes: those of windows that only it has, and, of windows that several sessions show
 * (`link-window`, `new-session -t`), those that were started in it. The others are guests: neither
 * asked nor ended for it.
 */
export interface SessionPanes {
  bound: BoundSession;
  /** Its own. The active one first. */
  panes: Pane[];
  /** The sessions that its guests may belong to. */
  owners: string[];
  /** The processes of all panes of the server that are not its own. */
  others: number[];
}

/** `isMissing`: its server has no session of that name. `hasGuestsOnly`: no pane is its own. */
export type Seen<T> =
  | ({ is: "there" } & T)
  | { is: "gone"; why: string; isMissing?: boolean; hasGuestsOnly?: boolean }
  | (Unknown & { hasGuestsOnly?: boolean });

/** The format of a pane option that holds a nonce of ours: "-" for any other text. */
export const ownOption = (option: string) =>
  `#{?#{m/r:^[A-Za-z0-9_-]+$,#{${option}}},#{${option}},-}`;
/** The numbers first: a name may have spaces in it. */
const SESSION = "#{session_id} #{session_created} #{pid} #{session_name}";
const PANE = [
  "#{session_id} #{session_created} #{pid} #{pane_id} #{pane_pid} #{pane_tty}",
  "#{window_active}#{pane_active} #{pane_dead}#{pane_input_off}#{pane_synchronized}",
  `#{?@viv-shell,1,0}#{?@viv-ask,1,0} ${ownOption("@viv-asked")} #{session_name}`,
].join(" ");
const PANE_LINE =
  /^(\$\d+) (\d+) (\d+) (%\d+) (-?\d*) (\S*) ([01]{2}) ([01]{3}) ([01])([01]) (\S+) (.*)$/;

/**
 * The session of this name. One that was created after `filedAt` was not meant; tmux has whole
 * seconds, so the second of the filing counts as before.
 */
export async function findSession(
  tmux: Tmux,
  name: string,
  filedAt: number | null,
): Promise<Seen<{ bound: BoundSession }>> {
  try {
    const all = await listSessions(tmux);
    const found = all.find((each) => each.name === name);
    if (found === undefined) {
      const names = all.map((each) => each.name);
      return { is: "gone", why: noSuch(name, names), isMissing: names.length > 0 };
    }
    if (filedAt !== null && found.created > Math.floor(filedAt / 1000)) {
      return { is: "unknown", why: `another session of that name: ${madeAt(found)}, later` };
    }
    const { session, created, server: pid } = found;
    const started = startOf(pid);
    if (started === null || !textOf(`/proc/${pid}/comm`).includes("tmux")) {
      return { is: "unknown", why: "its tmux server is not a process of this machine" };
    }
    const server = { pid, started };
    return { is: "there", bound: { is: "session", socket: tmux.socket, server, session, created } };
  } catch (error) {
    return explain(error);
  }
}

/** The bound one, whatever its name is by now. */
export async function readSession(
  tmux: Tmux,
  bound: BoundSession,
  name: string,
): Promise<Seen<{ session: SessionPanes }>> {
  try {
    const text = await tmux.run(["list-panes", "-a", "-F", PANE]);
    const session = sessionFrom(text, bound);
    if (session !== null) return judged(session);
  } catch (error) {
    if (!hasVanished(error)) return explain(error);
  }
  return whyNot(tmux, bound, name);
}

function judged(session: SessionPanes): Seen<{ session: SessionPanes }> {
  const { panes, owners } = session;
  if (panes.some(({ isDead }) => !isDead)) return { is: "there", session };
  if (panes.length === 0) {
    const why = `it has no pane of its own: what it shows belongs to ${owners.join(", ")}`;
    return { is: "unknown", why, hasGuestsOnly: true };
  }
  return { is: "gone", why: "its program has ended; remain-on-exit keeps the session" };
}

/** It is not there under its id: is it gone, or does another session have its name? */
async function whyNot(
  tmux: Tmux,
  bound: BoundSession,
  name: string,
): Promise<Seen<{ session: SessionPanes }>> {
  try {
    const listed = await listSessions(tmux);
    const heir = listed.find((each) => each.name === name);
    const isStillListed = listed.some(
      ({ session, created, server }) =>
        session === bound.session && created === bound.created && server === bound.server.pid,
    );
    if (heir !== undefined) {
      const isSeen =
        heir.server === bound.server.pid || startOf(bound.server.pid) !== bound.server.started;
      const why = `another session of that name: ${madeAt(heir)}`;
      return { is: "unknown", why, isReplaced: isSeen && !isStillListed };
    }
    if (isStillListed) return { is: "unknown", why: "tmux lists the session, but shows no panes" };
    const isOtherServer = listed.length > 0 && listed[0]?.server !== bound.server.pid;
    if (!isOtherServer) return { is: "gone", why: "the session has ended" };
  } catch (error) {
    if (!isKind(error, "no-server", "lost-server")) return explain(error);
  }
  const why = await whyServerLives(bound);
  return why === null ? { is: "gone", why: "its tmux server has ended" } : { is: "unknown", why };
}

/** A server closes its socket before it ends. */
const ENDS_WITHIN_MS = 2_000;
const LOOK_EVERY_MS = 20;
const MOST_TRIES = 5;

/** Null when this very server has ended, or ends now. */
async function whyServerLives({ server, socket }: BoundSession): Promise<string | null> {
  for (let waited = 0; startOf(server.pid) === server.started; waited += LOOK_EVERY_MS) {
    if (waited >= ENDS_WITHIN_MS) {
      return `its tmux server (process ${server.pid}) runs, but does not answer at ${socket}`;
    }
    await delay(LOOK_EVERY_MS);
  }
  return null;
}

/** A lost server is asked again: the next answer shows whether it is really gone. */
async function listSessions(tmux: Tmux, tries = 1) {
  let text: string;
  try {
    text = await tmux.run(["list-sessions", "-F", SESSION]);
  } catch (error) {
    if (!isKind(error, "lost-server") || tries === MOST_TRIES) throw error;
    await delay(LOOK_EVERY_MS * tries);
    return listSessions(tmux, tries + 1);
  }
  return text.split("\n").flatMap((line) => {
    const [, session = "", created, server, name = ""] =
      /^(\$\d+) (\d+) (\d+) (.*)$/.exec(line) ?? [];
    if (session === "") return [];
    return [{ session, created: Number(created), server: Number(server), name }];
  });
}

/** Null when this very session is not in the list. */
function sessionFrom(text: string, bound: BoundSession): SessionPanes | null {
  if (startOf(bound.server.pid) !== bound.server.started) return null;
  const shown: Pane[] = [];
  /** The other sessions that show a pane. */
  const others = new Map<string, { pid: number; sessions: string[] }>();
  for (const line of text.split("\n")) {
    const fields = PANE_LINE.exec(line);
    if (fields === null) continue;
    const [, session, created, server, id = "", pid, tty = ""] = fields;
    const [active, flags = "", shell, ask, asked = "-", name = ""] = fields.slice(7);
    if (session !== bound.session) {
      const other = others.get(id) ?? { pid: Number(pid), sessions: [] };
      other.sessions.push(name);
      others.set(id, other);
      continue;
    }
    if (Number(created) !== bound.created || Number(server) !== bound.server.pid) return null;
    if (shown.some((pane) => pane.id === id)) continue; // its window is linked twice
    const [isDead = true, isInputOff = true, isSynchronized = true] = [...flags].map(
      (flag) => flag === "1",
    );
    shown.push({
      ...{ id, pid: Number(pid), tty, isActive: active === "11", asked },
      ...{ isDead, isInputOff, isSynchronized, isShell: shell === "1", mayAsk: ask === "1" },
    });
  }
  if (shown.length === 0) return null;
  const isOwn = ({ id, pid }: Pane) => !others.has(id) || isStartedIn(pid, bound);
  const panes = shown.filter(isOwn).sort((a, b) => Number(b.isActive) - Number(a.isActive));
  const guests = shown.filter((pane) => !panes.includes(pane));
  const own = new Set(panes.map(({ pid }) => pid));
  return {
    bound,
    panes,
    owners: [...new Set(guests.flatMap(({ id }) => others.get(id)?.sessions ?? []))],
    others: [...others.values()].map(({ pid }) => pid).filter((pid) => !own.has(pid)),
  };
}

/** tmux gives each pane's process the session in which it was started: `TMUX=socket,server,session`. */
function isStartedIn(pid: number, { server, session }: BoundSession): boolean {
  const [, from, number] = (tmuxEntryOf(pid) ?? "").split(",");
  return from === String(server.pid) && `$${number}` === session;
}

/** The TMUX entry of its environment. */
export function tmuxEntryOf(pid: number): string | null {
  const entries = textOf(`/proc/${pid}/environ`).split("\0");
  return entries.find((each) => each.startsWith("TMUX=")) ?? null;
}

function startOf(pid: number): string | null {
  const found = readProcess(pid);
  return typeof found === "string" || found.isDead ? null : String(found.started);
}

const madeAt = ({ created }: { created: number }) =>
  `created ${new Date(created * 1000).toISOString()}`;

function noSuch(name: string, names: readonly string[]): string {
  const own = name.replace(/[:.]/g, "_");
  const hint = own === name ? "" : ` (tmux has no : or . in names: it would be called ${own})`;
  return `there is no session of that name${hint}${nearest(names.includes(own) ? own : name, names)}`;
}

function isKind(error: unknown, ...kinds: TmuxTrouble["kind"][]): boolean {
  return error instanceof TmuxTrouble && kinds.includes(error.kind);
}

/** The server went away, or the target did. */
export function hasVanished(error: unknown): boolean {
  return isKind(error, "no-server", "no-target", "lost-server");
}

function explain(error: unknown): { is: "gone" | "unknown"; why: string } {
  if (!(error instanceof TmuxTrouble)) throw error;
  if (error.kind === "no-server") return { is: "gone", why: `no tmux server: ${error.message}` };
  if (error.kind === "no-target") return { is: "gone", why: "the session has ended" };
  return { is: "unknown", why: error.message };
}

/** The sessions of a server, in one call. None when there is no server; throws when it is silent. */
export async function activityOn(socket: string | null, env: Env): Promise<SessionActivity[]> {
  const tmux = tmuxAt(socket ?? defaultSocket(env), { env });
  let text: string;
  try {
    text = await tmux.run(["list-windows", "-a", "-F", "#{window_activity} #{session_name}"]);
  } catch (error) {
    if (isKind(error, "no-server", "lost-server")) return [];
    throw error;
  }
  const sessions = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, seconds, name] = /^(\d+) (.*)$/.exec(line) ?? [];
    if (seconds === undefined || name === undefined) continue;
    sessions.set(name, Math.max(sessions.get(name) ?? 0, Number(seconds) * 1000));
  }
  return [...sessions].map(([name, activeAt]) => ({ name, activeAt }));
}
