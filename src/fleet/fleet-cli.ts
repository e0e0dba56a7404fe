import { formatDuration } from "../base/duration.ts";
import { counted } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import type { Stamped } from "../operation/operation.ts";
import { plain, prose, type Term, table } from "../operation/term.ts";
import { type DownEvent, down, type PsOutput, ps } from "./fleet-operations.ts";
import type { FleetEvent } from "./fleet-ports.ts";
import type { PartEvent } from "./part-news.ts";
import type { PartKind } from "./parts.ts";
import { LEFT_OVER, type ShownUp } from "./ups.ts";

/** One line of JSON: an event of a part is its own, with the part's name. */
export function asLine(event: Stamped<FleetEvent>): string {
  if (event.kind !== "said") return JSON.stringify(event);
  const { kind, at, ...rest } = event.event;
  return JSON.stringify({ kind, at: at ?? event.at, part: event.part, ...rest });
}

/** How a room shows an event of its own; null: not at all, or it has no words for it. */
export type PartViews = (kind: PartKind, event: PartEvent) => string | null;

/** Of the names of parts, unless one is longer. */
const NAME_WIDTH = 13;

/** The log on a terminal: time, part, sentence. */
export function fleetView(term: Term, views: PartViews) {
  const { color } = term;
  let width = NAME_WIDTH;
  // Each part reads viv.toml: people are told of an edit once.
  let badEdit = "";
  const notes = new NotesOfEdit();
  const line = (event: Stamped<FleetEvent>, part: string, text: string) => {
    width = Math.max(width, part.length);
    const time = color.dim(event.at.slice(11, 19));
    const name = color.cyan(part.padEnd(width));
    return text
      .split("\n")
      .map((one) => `${time} ${name} ${one}`)
      .join("\n");
  };
  return {
    event: (event: Stamped<FleetEvent>): string | null => {
      if (event.kind === "up") width = Math.max(width, ...event.parts.map((name) => name.length));
      const own = readAnewBy(event);
      if (own !== null) {
        const fresh = notes.fresh(own.part, own.notes);
        return fresh.length === 0 ? null : line(event, own.part, fresh.map(plain).join("\n"));
      }
      const text = event.kind === "said" ? said(event, term, views) : sentence(event, term);
      const part = "part" in event && event.part !== undefined ? event.part : "up";
      if (event.kind === "read_anew") badEdit = "";
      const message = badEditIn(event);
      if (message !== null) {
        if (message === badEdit) return null;
        badEdit = message;
        return line(event, "up", term.color.red(plain(message)));
      }
      return text === null ? null : line(event, part, text);
    },
  };
}

/** A part that has read viv.toml anew, which the supervisor tells; and what of the edit does not count yet. */
function readAnewBy(event: FleetEvent): { part: string; notes: string[] } | null {
  if (event.kind !== "said" || event.event.kind !== "reloaded") return null;
  const { file, notes } = event.event;
  if (typeof file !== "string") return null;
  return { part: event.part, notes: Array.isArray(notes) ? notes.map(String) : [] };
}

/** What parts say of an edit: the first of them is heard, until one says it again, of the next edit. */
class NotesOfEdit {
  readonly #saidBy = new Map<string, Set<string>>();

  fresh(part: string, notes: readonly string[]): string[] {
    return notes.filter((note) => {
      const by = this.#saidBy.get(note);
      if (by !== undefined && !by.has(part)) {
        by.add(part);
        return false;
      }
      this.#saidBy.set(note, new Set([part]));
      return true;
    });
  }
}

/** What the supervisor, or a part, says of a viv.toml that cannot be used. */
function badEditIn(event: FleetEvent): string | null {
  if (event.kind === "config_bad") return event.message;
  const message = event.kind === "said" && event.event.kind === "trouble" && event.event.message;
  return typeof message === "string" && message.includes("\nthe last good viv.toml still counts")
    ? message
    : null;
}

function said(
  { at, part, of, event }: Extract<Stamped<FleetEvent>, { kind: "said" }>,
  term: Term,
  views: PartViews,
): string | null {
  const stamped = { ...event, at: typeof event.at === "string" ? event.at : at };
  const own = views(of, stamped);
  if (own !== null) {
    // Its time and its name are in their columns already.
    const time = `${term.color.dim(String(stamped.at).slice(11, 19))} `;
    const without = (text: string, head: string) =>
      text.startsWith(head) ? text.slice(head.length) : text;
    return own
      .split("\n")
      .map((one) => without(without(one, time), `${part} `))
      .join("\n");
  }
  return ofClock(event, term);
}

function ofClock(event: PartEvent, { color }: Term): string | null {
  switch (event.kind) {
    case "trouble":
      return color.red(plain(String(event.message)));
    case "reaped":
      return `${plain(String(event.id))}: ${color.yellow(`taken back from ${event.worker}`)} (${event.reason})`;
    case "fired":
      return `${plain(String(event.name))} ${color.green("fired")}: ${counted(Number(event.tasks), "task")}`;
    case "skipped":
      return `${plain(String(event.name))} ${color.yellow(`skipped: ${plain(String(event.why))}`)}`;
    default:
      return typeof event.address === "string" ? `serves ${color.cyan(event.address)}` : null;
  }
}

function sentence(event: FleetEvent, { color }: Term): string | null {
  const note = "note" in event && event.note ? `: ${plain(event.note)}` : "";
  switch (event.kind) {
    case "up":
      return `${counted(event.parts.length, "part")} for ${plain(event.run)} (pid ${event.pid})`;
    case "ready": {
      const at = event.address === null ? "" : `; open ${color.cyan(event.address)}`;
      const login =
        event.address === null
          ? ""
          : color.dim("\nto make changes there, log in with: viv token --link");
      return `${color.green("ready")}${at}; Ctrl-C stops it in order${login}`;
    }
    case "empty":
      return color.yellow(plain(event.message));
    case "leftover": {
      const left = event.survivors.length > 0 ? `; still there: ${event.survivors.join(", ")}` : "";
      return color.yellow(`ended what an earlier viv up left, pid ${event.pid}${left}`);
    }
    case "lingers":
      return color.yellow(lingers(event.pid));
    case "begun":
      return event.pid === null ? "started" : `started, pid ${event.pid}`;
    case "gone":
      return color.yellow(`ended${note}`);
    case "restarts":
      return `restarts in ${formatDuration(event.after_ms)}`;
    case "waits":
      return color.yellow(`waits${note}`);
    case "parked":
      return color.red(`is parked${note}`);
    case "leaves":
      return event.why === "removed"
        ? "is no longer declared; stops"
        : "has new settings; restarts";
    case "read_anew":
      return [`${plain(event.file)} was read anew`, ...event.notes].join("\n");
    case "config_bad":
    case "trouble":
      return color.red(plain(event.message));
    case "draining": {
      const busy = event.working.join(", ");
      if (busy === "") return "stopping";
      return `stopping after the current work of ${busy}; interrupt again to give it back now`;
    }
    case "down":
      return "all have ended";
    case "detached": {
      const at = event.address === null ? "" : `, ${color.cyan(event.address)}`;
      const hint = `see: viv ps; stop it: viv down; log: ${plain(event.log)}`;
      return [
        `${color.green("runs in the background")}, pid ${event.pid}${at}`,
        ...event.parked.map(({ part, note }) => color.yellow(plain(`${part} is parked: ${note}`))),
        ...event.resting.map(({ part, note }) =>
          color.yellow(plain(`${part} does not run yet, and is tried again: ${note}`)),
        ),
        ...event.left.map(({ part, pid }) => color.yellow(plain(`${part} ${lingers(pid)}`))),
        color.dim(hint),
      ].join("\n");
    }
    case "said":
      return null;
  }
}

const lingers = (pid: number) =>
  `of an earlier viv up still runs, pid ${pid}; it ends after what it has begun`;

export const commands = {
  ps: {
    op: ps,
    readsConfig: true,
    shorts: { config: "c" },
    examples: [
      ["viv ps", "exit 1 when no viv up runs here"],
      ["viv ps -c ./pit/agents.toml", "the agents of that file"],
    ],
    exit: ({ running, others }: PsOutput) => (running || others.some((one) => one.running) ? 0 : 1),
    human: ({ others, ...first }: PsOutput, term, io) =>
      [first, ...others].map((one) => shown(one, term, io.now())).join("\n\n"),
  },
  down: {
    op: down,
    readsConfig: true,
    shorts: { config: "c" },
    examples: [
      ["viv down", "waits until running tasks have ended"],
      ["viv down --now", "gives running tasks back"],
      ["viv down -c ./pit/agents.toml", "the agents of that file"],
    ],
    view: ({ color }) => ({
      event: (event: Stamped<DownEvent>) => {
        switch (event.kind) {
          case "none":
            return `no viv up runs on ${plain(event.run)}; start it: viv up`;
          case "asked":
            return `asked viv up (pid ${event.pid}) to stop${event.now ? " at once" : ""}`;
          case "waits":
            if (event.working.length === 0) return null;
            return color.dim(
              `waits for ${plain(event.working.join("; "))}${event.now ? "" : "; at once: viv down --now"}`,
            );
          case "silent":
            return color.yellow(
              `no reaction of pid ${event.pid} for ${event.seconds} s: it is held (kill -CONT ${event.pid}), its disk is full, or another viv down has the turn; goes on waiting`,
            );
          case "left": {
            const { part, pid, now } = event;
            const how = now
              ? "gives back what it has begun"
              : "ends after what it has begun; at once: viv down --now";
            return `${plain(part)} (pid ${pid}), left by an earlier viv up, ${how}`;
          }
          case "gone":
            return `${color.green("stopped")} (pid ${event.pid} is gone)`;
        }
      },
    }),
  },
} satisfies Record<string, Command>;

function shown(up: ShownUp, term: Term, now: number): string {
  // Each part reads viv.toml: a bad edit is told once, at the top.
  const isAbove = (note: string) => up.note.endsWith(note.split("\n", 1)[0] ?? "");
  const rows = up.parts.map((part) => [
    part.name,
    painted(part.state, term),
    part.pid === null ? "" : `pid ${part.pid}`,
    formatDuration(now - Date.parse(part.since)),
    part.restarts === 0 ? "" : counted(part.restarts, "restart"),
    prose(plain(part.doing)),
    prose(isAbove(part.note) ? "" : term.color.yellow(plain(part.note))),
  ]);
  return [headOf(up, term, now), ...(rows.length > 0 ? ["", table(rows, term)] : [])].join("\n");
}

function headOf(output: ShownUp, term: Term, now: number): string {
  const { color } = term;
  const { running, pid, host, since, address, note, run_dir } = output;
  const more = note === "" ? "" : `\n${color.yellow(plain(note))}`;
  if (!running) {
    const left = output.parts.length > 0 ? "; these are left over" : "";
    return `no viv up runs on ${plain(run_dir)}${left}; start it: ${color.cyan("viv up")}${more}`;
  }
  const time = since === null ? "" : `, for ${formatDuration(now - Date.parse(since))}`;
  const at = address === null ? "" : `\n${color.cyan(address)}`;
  const name = output.of === "agents" ? "viv up, agents of a pit:" : "viv up";
  return `${name} ${painted(output.state, term)}, pid ${pid} on ${host}${time}\n${color.dim(plain(run_dir))}${at}${more}`;
}

function painted(state: string, { color }: Term): string {
  if (state === "working" || state === "idle") return color.green(state);
  if (state === "parked") return color.red(state);
  const isDoubtful = ["starting", "paused", "resting", "stopping", LEFT_OVER].includes(state);
  return isDoubtful ? color.yellow(state) : state;
}
